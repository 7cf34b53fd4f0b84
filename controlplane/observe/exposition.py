"""A /metrics text, read: its series and their types, and the lines that could not be read.

Prometheus's text format and OpenMetrics, by prometheus_client's own parser, a line at a
time where one is broken: what is whole is read, what is not is named. What is no such text
(a web page, an archive, an answer of another API) is refused with what to do instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

from controlplane.kernel.errors import InvalidInput

MAX_BYTES = 32 << 20
"""Of a text. The largest seen in the field, a gateway of thousands of clusters, has a quarter of it."""
MAX_BROKEN = 20
"""Broken lines beyond which it is another format, not a mishap."""
_SHOWN = 120
_TYPE = re.compile(r"^#\s+TYPE\s+\"?([^\s\"]+)\"?\s+(\S+)\s*$")
_SUFFIXES = ("_bucket", "_sum", "_count", "_total", "_created")


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: a series and its value."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line that could not be read; ``number`` counts from 1."""

    number: int
    text: str
    problem: str

    def __str__(self) -> str:
        return f"line {self.number}: {self.problem}: {_short(self.text)}"


@dataclass(slots=True)
class Exposition:
    """What a text shows. ``types`` are as declared, by family."""

    samples: list[Sample] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    broken: list[BrokenLine] = field(default_factory=list)
    _by_name: dict[str, list[Sample]] = field(default_factory=dict)

    def of(self, name: str) -> list[Sample]:
        """Return the samples of a series' name."""
        if not self._by_name:
            for sample in self.samples:
                self._by_name.setdefault(sample.name, []).append(sample)
        return self._by_name.get(name, [])

    def declares(self, name: str) -> bool:
        """Tell whether a series could appear: its family is declared, though it may have no sample yet."""
        return name in self.types or any(
            name.removesuffix(suffix) in self.types for suffix in _SUFFIXES if name.endswith(suffix)
        )

    def families(self) -> set[str]:
        """Return every name by which a family is called: as declared, and as its samples are, or begin."""
        found = {*self.types, *(f"{name}_total" for name, kind in self.types.items() if kind == "counter")}
        for name in {sample.name for sample in self.samples}:
            found.add(name)
            found.update(name.removesuffix(suffix) for suffix in _SUFFIXES[:3] if name.endswith(suffix))
        return found

    def bounds(self, histogram: str) -> list[float]:
        """Return the bucket bounds of a histogram, in its own unit, without +Inf."""
        found = {sample.labels.get("le", "") for sample in self.of(f"{histogram}_bucket")}
        return sorted(
            bound for bound in (_number(text) for text in found) if bound not in {None, float("inf")}
        )


def decode(content: bytes, where: str) -> str:
    """Return the bytes of a /metrics answer as text, or say what they are instead."""
    if len(content) > MAX_BYTES:
        msg = f"{where} is larger than {MAX_BYTES >> 20} MiB: no engine shows as much"
        raise InvalidInput(msg, hint="give the /metrics of one engine, not of a whole Prometheus (/federate)")
    if content.startswith(b"\x1f\x8b"):
        msg = f"{where} is compressed with gzip"
        raise InvalidInput(msg, hint="unpack it first, for example with `gunzip -c FILE`")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{where} is no text: byte {error.start} is not UTF-8"
        raise InvalidInput(
            msg, hint="save the text format, for example with `curl -fsS URL > metrics.txt`"
        ) from None
    if "\x00" in text:
        msg = f"{where} is binary"
        raise InvalidInput(msg, hint="save the text format, for example with `curl -fsS URL > metrics.txt`")
    return text


def parse(text: str, where: str) -> Exposition:
    """Read a text; raise `InvalidInput` when it is no exposition at all, or cut off."""
    _refuse_strangers(text.lstrip()[:200], where)
    lines = text.replace("\r\n", "\n").split("\n")
    found = Exposition()
    for line in lines:
        declared = _TYPE.match(line)
        if declared:
            found.types[declared.group(1)] = declared.group(2)
    wanted = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    _read(wanted, found, where)
    found.broken.sort(key=lambda each: each.number)
    if found.broken and found.broken[-1].number == len(lines):
        msg = f"{where} breaks off in {found.broken[-1]}"
        raise InvalidInput(
            msg, hint="fetch it again and whole, for example with `curl -fsS URL > metrics.txt`"
        )
    if "# EOF" not in text and _is_openmetrics(text):
        msg = f"{where} is OpenMetrics without its `# EOF`: it was cut off"
        raise InvalidInput(
            msg, hint="fetch it again and whole, for example with `curl -fsS URL > metrics.txt`"
        )
    if not found.samples and not found.types:
        msg = f"{where} holds no metric"
        raise InvalidInput(msg, hint="engines show them at /metrics; SGLang needs --enable-metrics")
    return found


def _read(lines: Sequence[tuple[int, str]], into: Exposition, where: str) -> None:
    """Read lines in one go, or halve them until the broken ones stand alone."""
    try:
        into.samples += list(_samples("\n".join(line for _, line in lines) + "\n"))
    except (ValueError, IndexError, KeyError) as error:
        if len(lines) > 1:
            middle = len(lines) // 2
            _read(lines[:middle], into, where)
            _read(lines[middle:], into, where)
            return
        number, line = lines[0]
        into.broken.append(BrokenLine(number, line, _words(error)))
        if len(into.broken) > MAX_BROKEN:
            msg = f"{where} is no text of metrics: {into.broken[0]}, and {MAX_BROKEN} lines more are like it"
            raise InvalidInput(msg, hint="give the answer of an engine's /metrics") from None


def _samples(text: str) -> Iterator[Sample]:
    # Without TYPE lines the parser leaves names as they are; with them it adds _total to what has none.
    for family in text_string_to_metric_families(text):
        for name, labels, value, *_ in family.samples:
            yield Sample(name, labels, float(value))


def _refuse_strangers(start: str, where: str) -> None:
    if not start:
        msg = f"{where} is empty"
        raise InvalidInput(msg, hint="engines show metrics at /metrics; SGLang needs --enable-metrics")
    if start.startswith("<"):
        msg = f"{where} is a web page, not metrics"
        raise InvalidInput(
            msg, hint="give the address of /metrics itself; a sign-in page may stand before it"
        )
    if start.startswith(("{", "[")):
        msg = f"{where} is JSON, not metrics"
        raise InvalidInput(msg, hint="give an engine's /metrics, not the answer of an API")


def _is_openmetrics(text: str) -> bool:
    """Tell by what only OpenMetrics has: units, and counters declared without the suffix of their samples."""
    return re.search(r"^# UNIT ", text, re.MULTILINE) is not None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:_SHOWN] or "it is no sample"


def _short(text: str) -> str:
    return f"`{text[:_SHOWN]}…`" if len(text) > _SHOWN else f"`{text}`"
