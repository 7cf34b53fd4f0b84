"""Exported rules in the hands of Prometheus' own tool: they are valid, fire on a burn, and are quiet else."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from controlplane.model.slo import Slo
from controlplane.observe.importers.load import import_files
from controlplane.observe.profile import shipped
from controlplane.observe.rules import export
from tests.unit.controlplane.observe.replay import service

PROMTOOL = shutil.which("promtool") or "promtool"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed"),
]
HOUR = 60
"""Minutes; a sample is taken each minute."""


def slo(name: str, indicator: Any, target: str = "99.9%", **spec: Any) -> Slo:
    values = {"service": "shop", "indicator": indicator, "target": target, "by": ["service"], **spec}
    return Slo.model_validate({"kind": "SLO", "metadata": {"name": f"shop-{name}"}, "spec": values})


def counted(what: str, **more: Any) -> Slo:
    query = {
        "bad": f'sum(rate(events_total{{what="{what}",code="500"}}[{{{{ window }}}}]))',
        "total": f'sum(rate(events_total{{what="{what}"}}[{{{{ window }}}}]))',
    }
    return slo(what, query, **more)


def series(what: str, good: Sequence[float], bad: Sequence[float]) -> Iterator[dict[str, str]]:
    """Return two counters from what they gain each minute."""
    for code, gains in (("200", good), ("500", bad)):
        total, values = 0.0, []
        for gain in gains:
            total += gain
            values.append(f"{total:.12g}")
        name = f'events_total{{what="{what}",code="{code}"}}'
        yield {"series": name, "values": " ".join(values)}


def promtool(
    folder: Path,
    slos: Sequence[Slo],
    inputs: Sequence[dict[str, str]],
    tests: Any,
    beside: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Let promtool check and play the rules; ``beside`` are other rule files, each with its group.

    The groups' order is fixed: without it each run has another, and an alert may come an interval later.
    """
    rules = export(slos, {"chat": service()}, shipped())
    assert rules.refused == []
    (folder / "rules.yaml").write_text(json.dumps({"groups": rules.groups}))
    asked = {
        "rule_files": ["rules.yaml", *beside],
        "evaluation_interval": "5m",
        "group_eval_order": [*(group["name"] for group in rules.groups), *beside.values()],
        "tests": [{"interval": "1m", "input_series": list(inputs), "promql_expr_test": tests}],
    }
    (folder / "test.yaml").write_text(json.dumps(asked))
    for command in (["check", "rules", "rules.yaml"], ["test", "rules", "test.yaml"]):
        done = subprocess.run([PROMTOOL, *command], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def firing(what: str, severity: str, minute: int, *, fires: bool) -> dict[str, Any]:
    names = f'sloth_slo="{what}",sloth_severity="{severity}"'
    return {
        "expr": f'count(ALERTS{{alertstate="firing",{names}}})',
        "eval_time": f"{minute}m",
        "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
    }


def near(expr: str, value: float, minute: int) -> dict[str, Any]:
    within = f"abs({expr} - {value:.12g}) < bool {abs(value) * 1e-6 + 1e-12:.3g}"
    return {
        "expr": f"sum({within})",
        "eval_time": f"{minute}m",
        "exp_samples": [{"labels": "{}", "value": 1}],
    }


def test_they_fire_on_a_burn_and_not_on_few_or_good_events(tmp_path: Path) -> None:
    """The quiet service has three requests an hour; one fails, once. `plain` is it without a guard."""
    day = 11 * HOUR
    outage = [100.0 if minute >= 8 * HOUR else 0.0 for minute in range(day)]
    quiet = [1.0 if minute % 20 == 0 and minute != 8 * HOUR else 0.0 for minute in range(day)]
    failed = [1.0 if minute == 8 * HOUR else 0.0 for minute in range(day)]
    slow = [0.5] * day
    inputs = [
        *series("outage", [100.0 - each for each in outage], outage),
        *series("quiet", quiet, failed),
        *series("plain", quiet, failed),
        *series("slow", [99.5] * day, slow),
    ]
    slos = [
        counted("outage"),
        counted("quiet"),
        counted("plain", minEvents=0),
        counted("slow"),
    ]
    minutes = [8 * HOUR + each for each in (5, 10, 30, 60, 150)]
    silent = [firing("quiet", "page", minute, fires=False) for minute in minutes]
    tests = [
        *silent,
        firing("plain", "page", 8 * HOUR + 10, fires=True),
        firing("outage", "page", 8 * HOUR, fires=False),
        firing("outage", "page", 8 * HOUR + 5, fires=True),
        firing("slow", "page", 10 * HOUR, fires=False),
        firing("slow", "ticket", 10 * HOUR, fires=True),
        near('slo:current_burn_rate:ratio{sloth_slo="slow"}', 5.0, 10 * HOUR),
    ]
    promtool(tmp_path, slos, inputs, tests)


def test_the_budget_is_counted_in_events_however_uneven_the_traffic(tmp_path: Path) -> None:
    """For three hours a thousand requests a minute, none bad; for three hours ten, half of them bad."""
    half = 3 * HOUR
    good = [1000.0] * half + [5.0] * half
    bad = [0.0] * half + [5.0] * half
    slos = [
        counted("events", target="90%"),
        counted("shares", target="90%", budgeting={"method": "ratioTimeslices"}),
        counted(
            "slices", target="90%", budgeting={"method": "timeslices", "slice": "5m", "sliceTarget": "80%"}
        ),
        slo("alone", {"errorRatio": "1 - avg(avg_over_time(fine[{{ window }}]))"}, target="90%"),
        slo("ttft", "ttft", service="chat", threshold="1s", target="90%", by=["service", "zone"]),
        slo("success", "success", service="chat", target="99%", by=["service", "zone"]),
        slo("availability", "availability", service="chat", target="90%", by=["service"]),
    ]
    labels = 'service="chat",zone="zone-a",node="n",replica="r"'
    ttft = "vllm:time_to_first_token_seconds"
    finished = f"vllm:request_success_total{{{labels},finished_reason="
    envoy = 'envoy_cluster_upstream_rq_xx{service="chat",zone="zone-a",envoy_response_code_class='
    inputs = [
        *(each for what in ("events", "shares", "slices") for each in series(what, good, bad)),
        {"series": "fine", "values": f"1x{half - 1} 0.5x{half - 1}"},
        {"series": f'{ttft}_bucket{{{labels},le="1.0"}}', "values": f"0+8x{2 * half}"},
        {"series": f"{ttft}_count{{{labels}}}", "values": f"0+10x{2 * half}"},
        {"series": f'{envoy}"2"}}', "values": f"0+95x{2 * half}"},
        {"series": f'{envoy}"4"}}', "values": f"0+50x{2 * half}"},
        {"series": f'{envoy}"5"}}', "values": f"0+5x{2 * half}"},
        {"series": f'{finished}"abort"}}', "values": f"0+10x{2 * half}"},
        {"series": f'{finished}"stop"}}', "values": f"0+85x{2 * half}"},
        {"series": f"up{{{labels}}}", "values": f"1x{2 * half}"},
        {"series": 'up{service="chat",zone="zone-b",node="m",replica="s"}', "values": f"0x{2 * half}"},
    ]
    period = "slo:sli_error:ratio_rate30d"
    end = 2 * half - 5
    events = [
        f'{period}{{sloth_slo="events"}} > bool 0.0045',
        f'{period}{{sloth_slo="events"}} < bool 0.0055',
        f'{period}{{sloth_slo="shares"}} > bool 0.24',
        f'{period}{{sloth_slo="slices"}} > bool 0.48',
        f'{period}{{sloth_slo="alone"}} > bool 0.24',
    ]
    tests = [
        *({"expr": f"sum({text})", "eval_time": f"{end}m", "exp_samples": [{"labels": "{}", "value": 1}]}
          for text in events),
        near('slo:sli_error:ratio_rate5m{sloth_slo="shop-ttft",zone="zone-a"}', 0.2, end),
        near('slo:sli_error:ratio_rate5m{sloth_slo="shop-ttft",zone=""}', 0.2, end),
        near('slo:sli_error:ratio_rate1h{sloth_slo="shop-success",zone="zone-a"}', 0.15, end),
        near('slo:sli_error:ratio_rate1h{sloth_slo="shop-availability"}', 0.5, end),
    ]  # fmt: skip
    promtool(tmp_path, slos, inputs, tests)


SLOTH = """\
version: prometheus/v1
service: shop
labels: {owner: us}
slos:
  - name: till
    objective: 99.9
    sli:
      events:
        error_query: sum(rate(events_total{code="500"}[{{.window}}]))
        total_query: sum(rate(events_total[{{.window}}]))
    alerting: {name: Till, labels: {area: till}, page_alert: {labels: {severity: wake}}}
"""


def as_sloth_has_it() -> Iterator[dict[str, Any]]:
    """Yield the rules that Sloth makes of its spec, with another id so that both can be loaded."""
    names = {"sloth_id": "shop-theirs", "sloth_service": "shop", "sloth_slo": "theirs"}
    labels = {"owner": "us", **names}
    where = "{" + ",".join(f'{name}="{value}"' for name, value in names.items()) + "}"
    share = "slo:sli_error:ratio_rate"
    for window in ("5m", "30m", "1h", "2h", "6h", "1d", "3d"):
        errors = f'sum(rate(events_total{{code="500"}}[{window}]))'
        expr = f"({errors}) / (sum(rate(events_total[{window}])))"
        yield {"record": f"{share}{window}", "expr": expr, "labels": {**labels, "sloth_window": window}}
    short = f"{share}5m{where}[30d]"
    mean = f"sum_over_time({short}) / ignoring (sloth_window) count_over_time({short})"
    yield {"record": f"{share}30d", "expr": mean, "labels": {**labels, "sloth_window": "30d"}}
    for severity, (quick, slow), more in (
        ("page", (("5m", "1h", 14.4), ("30m", "6h", 6)), {"severity": "wake"}),
        ("ticket", (("2h", "1d", 3), ("6h", "3d", 1)), {}),
    ):
        pairs = (
            f"(max({share}{a}{where} > ({factor} * 0.001)) without (sloth_window) and "
            f"max({share}{b}{where} > ({factor} * 0.001)) without (sloth_window))"
            for a, b, factor in (quick, slow)
        )
        carried = {"area": "till", "sloth_severity": severity, **more}
        yield {"alert": "Till", "expr": " or ".join(pairs), "labels": carried}


def test_what_is_imported_from_sloth_gives_the_series_and_alerts_that_sloths_rules_give(
    tmp_path: Path,
) -> None:
    (tmp_path / "theirs.yaml").write_text(
        json.dumps({"groups": [{"name": "g", "rules": [*as_sloth_has_it()]}]})
    )
    made = import_files([("sloth.yaml", SLOTH)], 30 * 86400.0).made
    end = 7 * HOUR
    bad = [3.0 if 200 < minute < 230 else 0.01 * (minute % 7) for minute in range(end)]
    inputs = list(series("any", [50.0 + minute % 13 for minute in range(end)], bad))
    without = "ignoring(sloth_id, sloth_slo)"
    tests = []
    for minute in (30, 210, 225, 260, end - 5):
        ours, theirs = (f'{{__name__=~"slo:sli_error:.*",sloth_slo="{name}"}}' for name in ("till", "theirs"))
        apart = f"count(abs({ours} - {without} {theirs}) <= 1e-12)"
        tests.append(
            {"expr": apart, "eval_time": f"{minute}m", "exp_samples": [{"labels": "{}", "value": 8}]}
        )
        for severity in ("page", "ticket"):
            firing = (
                f'(count(ALERTS{{sloth_slo="{name}",sloth_severity="{severity}"}}) or vector(0))'
                for name in ("till", "theirs")
            )
            same = {"expr": " - ".join(firing), "eval_time": f"{minute}m"}
            tests.append({**same, "exp_samples": [{"labels": "{}", "value": 0}]})
    both = f'count(ALERTS{{sloth_slo="till"}} * {without} ALERTS{{sloth_slo="theirs"}})'
    tests.append({"expr": both, "eval_time": "225m", "exp_samples": [{"labels": "{}", "value": 2}]})
    promtool(
        tmp_path, [Slo.model_validate(each) for each in made], inputs, tests, beside={"theirs.yaml": "g"}
    )
