"""Services that are replayed from expositions written by hand, and what comes of them, worked out by hand.

A text shows what a replica has counted at its first tick: 10 requests, of which 9 end well, of 100 prompt
tokens, 40 of them from the cache, and 20 answered. What counts is multiplied by the ticks so far.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.replayed import EXPORTER, FIRST, REPLICAS, Place, Replayed

TEXTS = Path(__file__).parent / "expositions"
RESTARTED, STEADY = (1, 3, 2, 5), (1, 3, 5, 7)
"""Ticks at each step: with a start from nothing before the third, and without."""
PATIENT = 30.0
"""Seconds that an observer takes for a tick where siblings must count as seen just now on any machine."""
MIB = 1048576.0
Shown = Callable[[Place, int], str | None]


@dataclass(slots=True)
class Story(Replayed):
    """A service whose targets show at each step what ``shown`` says."""

    shown: Shown

    def text(self, place: Place, step: int) -> str | None:
        return self.shown(place, step)


@cache
def exposition(name: str, ticks: int = 1) -> str:
    """Return a text as it is after so many ticks: what counts has counted, the rest stays."""
    lines, kind = [], ""
    for line in (TEXTS / f"{name}.txt").read_text("utf-8").splitlines():
        kind = line.split()[-1] if line.startswith("# TYPE ") else kind
        series, _, value = line.rpartition(" ")
        counts = kind in {"counter", "histogram"} and not line.startswith("#")
        lines.append(f"{series} {float(value) * ticks}" if counts else line)
    return "\n".join(lines) + "\n"


def _changed(text: str, names: Collection[str], change: Callable[[str], str]) -> str:
    """Change the samples of some families."""
    lines = text.splitlines(keepends=True)
    return "".join(change(line) if re.split(r"[{ ]", line)[0] in names else line for line in lines)


def _restarted(name: str) -> Shown:
    return lambda _, step: exposition(name, RESTARTED[step])


def _silent(place: Place, step: int) -> str | None:
    """One replica does not answer for two steps, and counts on."""
    return None if place == FIRST and step in {1, 2} else exposition("vllm-0.33", STEADY[step])


def _absent(place: Place, step: int) -> str:
    """One replica lacks two families for two steps; in the end it shows a series that was never there."""
    text = exposition("vllm-0.33", STEADY[step])
    if place != FIRST:
        return text
    if step in {1, 2}:
        text = _changed(text, {"vllm:generation_tokens_total", "vllm:kv_cache_usage_perc"}, lambda _: "")
    if step >= 2:
        labels = 'engine="0",finished_reason="error",model_name="acme/chat-8b"'
        text += f"vllm:request_success_total{{{labels}}} {2.0 * (step - 1)}\n"
    return text


def _unnumbered(place: Place, step: int) -> str:
    """One replica shows NaN for two steps where it has shown numbers."""
    text = exposition("vllm-0.33", STEADY[step])
    if place != FIRST or step not in {1, 2}:
        return text
    names = {"vllm:generation_tokens_total", "vllm:kv_cache_usage_perc", "vllm:num_requests_waiting"}
    names |= {f"vllm:time_to_first_token_seconds_{part}" for part in ("bucket", "sum", "count")}
    return _changed(text, names, lambda line: f"{line.rpartition(' ')[0]} NaN\n")


def _another_release(before: str, after: str) -> Shown:
    """All replicas start again as another release, which has other names."""
    return lambda _, step: exposition(before if step < 2 else after, (1, 3, 2, 4)[step])


def _older_sglang(_: Place, step: int) -> str:
    """All replicas start again as a release from before what is counted as it happens."""
    text = exposition("sglang-0.5.23", (1, 3, 2, 4)[step])
    new = {"sglang:realtime_tokens_total", "sglang:prefill_effective_tokens_total"}
    return text if step < 2 else _changed(text, new, lambda _: "")


def _latched(place: Place, step: int) -> str | None:
    """One card has shown a code since long, one from the second step on; the exporter is silent once."""
    if place != EXPORTER:
        return exposition("vllm-0.33", STEADY[step])
    if step == 2:
        return None
    text = _coded(exposition("dcgm-mig", STEADY[step]), "0", 13, "Graphics Engine Exception")
    text = _coded(text, "1", 79, "GPU has fallen off the bus") if step else text
    # The present exporter writes the host's name in lower case.
    return text.replace("Hostname=", "hostname=") if step == 3 else text


def _coded(text: str, card: str, code: int, message: str) -> str:
    def latch(line: str) -> str:
        labels, mine = line.rpartition("}")[0], f'gpu="{card}"' in line
        return f'{labels},err_code="{code}",err_msg="{message}"}} {code}\n' if mine else line

    return _changed(text, {"DCGM_FI_DEV_XID_ERRORS"}, latch)


ENGINES = {
    "vllm-0.8": "vllm",
    "vllm-0.33": "vllm",
    "sglang-0.5.23": "sglang",
    "tgi-3": "tgi",
    "triton-trtllm": "triton",
    "trtllm-serve": "trtllm",
    "nim-1": "nim",
    "dynamo-1": "dynamo",
}
"""The texts of engines, and whose they are."""
STORIES: Mapping[str, Story] = {
    each.name: each
    for each in (
        *(Story(f"written-{name}", engine, _restarted(name)) for name, engine in ENGINES.items()),
        Story("silent", "vllm", _silent),
        Story("absent", "vllm", _absent, tick=PATIENT),
        Story("unnumbered", "vllm", _unnumbered),
        Story("upgraded", "vllm", _another_release("vllm-0.8", "vllm-0.33"), tick=PATIENT),
        Story("rolled-back", "vllm", _another_release("vllm-0.33", "vllm-0.8"), tick=PATIENT),
        Story("older-sglang", "sglang", _older_sglang, tick=PATIENT),
        Story("latched", "vllm", _latched, places=(*REPLICAS, EXPORTER)),
    )
}


def worked_out(text: str, pace: float) -> dict[str, float]:
    """Return every value of an engine's text, at a zone of two replicas of ``pace`` ticks a second each."""
    shown = {**_SHOWN[text]}
    in_time = min(shown.get(name, 1.0) for name in ("ttft", "tpot" if "tpot" in shown else "itl"))
    shown["sla_concurrency"] = 2 * 8 * in_time
    if text != "triton-trtllm":
        tokens, computed = 2 * 200 * pace, 2 * _COMPUTED.get(text, 600) * pace
        hourly = tokens * 3600 / 1e6
        shown |= {"tokens_per_second": tokens, "decode_throughput": tokens, "prefill_throughput": computed}
        shown |= {"etpm_estimate": 60 * tokens * 0.9 * in_time, "scaling_efficiency": 1.0}
        shown |= {"cost_per_million": 2 * 2.5 / hourly, "roi": (20 * hourly - 2 * 2.5) / (2 * 2.5)}
    return {**shown, "success": 0.9, "availability": 1.0}


_COMPUTED = {"tgi-3": 1000, "nim-1": 1000}
"""Prompt tokens of a tick that are taken to have been computed where no engine tells the cached ones."""
_VLLM = {
    "context_window": 10000.0,
    "context_use": (1000 + 200) / 10 / 10000,
    "ttft": 0.8,
    "itl": 180 / 200,
    "e2e": 1.0,
    "kv_use": 0.5,
    "prefix_hits": 400 / 1000,
}
_SHOWN: Mapping[str, Mapping[str, float]] = {
    "vllm-0.8": _VLLM,
    "vllm-0.33": {**_VLLM, "tpot": 9 / 10},
    "sglang-0.5.23": {
        "context_window": 16000.0,
        "context_use": (1000 + 200) / 10 / 16000,
        "ttft": 0.8,
        # Its bounds are 40 and 60 ms, and the objective is 50.
        "itl": 160 / 200,
        "tpot": 9 / 10,
        "e2e": 1.0,
        "kv_use": 0.5,
        "memory_per_token": 8e9 / 64000,
        "prefix_hits": (300 + 100) / (600 + 300 + 100),
    },
    "tgi-3": {
        "context_window": 8000.0,
        "context_use": (1000 + 200) / 10 / 8000,
        "ttft_mean_floor": 2 / 10 + 1 / 5,
        "tpot": 9 / 10,
        "e2e": 1.0,
        "kv_use": 16000 / 64000,
    },
    "triton-trtllm": {
        # Its bounds are half a second and two, and the objective is one.
        "ttft": 6 / 10,
        "e2e_mean": 30 / 10,
        "kv_use": 0.5,
        "gpu_use": 0.7,
        "gpu_memory_use": 64 / 80,
        "memory_per_token": 64e9 / (4000 * 16),
    },
    "trtllm-serve": {"ttft": 0.8, "tpot": 9 / 10, "e2e": 1.0, "kv_use": 0.5, "prefix_hits": 40 / (40 + 60)},
    "nim-1": {
        "context_window": 10000.0,
        "context_use": (1000 + 200) / 10 / 10000,
        "ttft": 0.8,
        "itl": 180 / 200,
        "e2e": 1.0,
        "kv_use": 0.5,
    },
    "dynamo-1": {
        "context_window": 16000.0,
        "context_use": (1000 + 200) / 10 / 16000,
        "ttft": 0.8,
        "itl": 180 / 200,
        "e2e": 1.0,
        "prefix_hits": 400 / 1000,
    },
}
"""Values of each text that have nothing to do with time."""
CARDS = {
    "gpu_use": (0.9 + 0.5) / 2,
    "gpu_memory_use": (70 + 50) / (70 + 50 + 10 + 30),
    "memory_per_token": (70000 + 50000) * MIB / (2 * 4000 * 16),
    "energy_per_token": (700 + 500) / (2 * 200),
    "tokens_per_joule": (2 * 200) / (700 + 500),
}
"""Values of two cards, one of which is shown on two instances."""
