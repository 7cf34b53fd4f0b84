"""An SLO as recording and alerting rules that a Prometheus evaluates without Fleetward.

Names of series and labels are Sloth's, so that dashboards and alerts made for it go on working. Two
things are not: the budget counts events over the whole window, as the SLO says, not the mean of
five-minute shares; and while `minEvents` is not 0 an alert rests on the least share of errors
that the events make likely, so that one failed request of three pages nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controlplane.kernel.durations import parse_duration
from controlplane.kernel.errors import FleetwardError
from controlplane.model.burn_tiers import PAIRS, Tier
from controlplane.model.kind import API_VERSION
from controlplane.model.query import Query, promql_duration
from controlplane.model.service import Service
from controlplane.model.slo import Slo
from controlplane.observe.profile import Profile
from controlplane.observe.promql import queries_of

Rule = dict[str, Any]
Group = dict[str, Any]

RATIO, LEAST = "slo:sli_error:ratio_rate", "slo:sli_error:least_rate"
EVENTS, ERRORS = "slo:sli_events:count", "slo:sli_errors:count"
BAD_SLICE = "slo:sli_slice:bad"
BASE = 300.0
"""Seconds. The shortest window that is always recorded: what the budget is added up from."""
SHORTEST = 60.0
"""Seconds. A fast tier that looks at less is none for a Prometheus that scrapes a few times a minute."""
_TOO_FAST, _OVER = (f"SLO error budget burn rate is {how}." for how in ("too fast", "over expected"))
_Z2 = 9.0
"""The square of three standard deviations, as in the loop: one chance in 740 of being wrong by accident."""


@dataclass(slots=True)
class Exported:
    """The rule groups, what they cannot say (``notes``), and the SLOs that cannot be said at all."""

    groups: list[Group] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def export(slos: Sequence[Slo], services: Mapping[str, Service], profiles: Mapping[str, Profile]) -> Exported:
    """Return the rules of every SLO that rules can say."""
    found = Exported()
    seen: set[str] = set()
    for slo in slos:
        try:
            queries = queries_of(slo, services.get(slo.spec.service), profiles)
        except FleetwardError as error:
            found.refused.append(f"SLO {slo.name}: {error}")
            continue
        rules = _Rules(slo, queries)
        if rules.id in seen:
            found.refused.append(f"SLO {slo.name}: its series would be those of another, `{rules.id}`")
            continue
        seen.add(rules.id)
        found.groups += rules.groups()
        found.notes += [f"SLO {slo.name}: {note}" for note in rules.notes()]
    return found


@dataclass(frozen=True, slots=True)
class _Rules:
    slo: Slo
    queries: Sequence[Query]

    @property
    def short_name(self) -> str:
        """The SLO's name within its service."""
        return self.slo.name.removeprefix(f"{self.slo.spec.service}-") or self.slo.name

    @property
    def id(self) -> str:
        return f"{self.slo.spec.service}-{self.short_name}"

    @property
    def names(self) -> dict[str, str]:
        return {
            "sloth_id": self.id,
            "sloth_service": self.slo.spec.service,
            "sloth_slo": self.short_name,
        }

    @property
    def labels(self) -> dict[str, str]:
        given = {re.sub(r"\W", "_", name): value for name, value in self.slo.metadata.labels.items()}
        return {**given, **self.names}

    @property
    def selector(self) -> str:
        return "{" + ", ".join(f'{name}="{value}"' for name, value in self.names.items()) + "}"

    @property
    def counted(self) -> bool:
        """Whether the queries count events; a bare share of errors does not."""
        return all(query.total is not None for query in self.queries)

    @property
    def guarded(self) -> bool:
        """Whether alerts ask how many events there were."""
        spec = self.slo.spec
        return self.counted and spec.min_events > 0 and spec.budgeting.method != "timeslices"

    @property
    def period(self) -> float:
        return self.slo.spec.window.length

    @property
    def windows(self) -> list[float]:
        """Every window that is recorded: the SLO's own, and the usual ones, which dashboards read."""
        usual = [parse_duration(text) for pair in PAIRS for text in pair[2:4]]
        own = [seconds for tier in self.slo.spec.burn_tiers for seconds in (tier.long, tier.short)]
        method = self.slo.spec.budgeting
        slices = [method.slice] if method.method == "ratioTimeslices" else []
        return sorted({BASE, *(w for w in usual if w < self.period), *own, *slices})

    def groups(self) -> Iterator[Group]:
        yield self._group("sli-recordings", [*self._recorded(), self._whole()])
        yield self._group("meta-recordings", list(self._about()))
        alerts = [*self._burning(), *self._fast(), *self._silent()]
        if alerts:
            yield self._group("alerts", alerts)

    def notes(self) -> Iterator[str]:
        spec = self.slo.spec
        if spec.window.calendar is not None:
            unit = spec.window.calendar.unit
            yield f"rules know no calendar: the {unit} is exported as the last {promql_duration(self.period)}"
        if spec.fast is not None and spec.fast.window < SHORTEST:
            span = f"{spec.fast.window:g} s, less than {SHORTEST:g} s"
            yield f"its fast tier looks at {span}: too short for rules, left out"
        if spec.threshold is not None:
            bound = f"{spec.threshold:g} s is taken as a bucket bound"
            yield f"{bound}; `fleetward engines check` tells whether it is one"
        if spec.min_events > 0 and not self.counted:
            yield "an `errorRatio` counts no events, so that `minEvents` says nothing in its rules"

    def _group(self, what: str, rules: list[Rule]) -> Group:
        return {"name": f"fleetward-slo-{what}-{self.id}", "rules": rules}

    def _record(self, name: str, expr: str, window: float | None = None) -> Rule:
        extra = {} if window is None else {"sloth_window": promql_duration(window)}
        return {
            "record": name,
            "expr": f"{expr}\n" if "\n" in expr else expr,
            "labels": {**self.labels, **extra},
        }

    def _recorded(self) -> Iterator[Rule]:
        spec = self.slo.spec
        if spec.budgeting.method == "timeslices":
            least = 1 - (spec.budgeting.slice_target or 0.0)
            for query in self.queries:
                share = query.at(spec.budgeting.slice).ratio
                yield self._record(BAD_SLICE, f"(\n{share}\n)\n> bool {least:.12g}")
            for window in (each for each in self.windows if each != self.period):
                over = f"avg_over_time({BAD_SLICE}{self.selector}[{promql_duration(window)}])"
                yield self._record(f"{RATIO}{promql_duration(window)}", over, window)
            return
        for window in self.windows:
            name = promql_duration(window)
            for query in self.queries:
                yield from self._of(query, window)
            if self.guarded:
                yield self._record(f"{LEAST}{name}", self._least(name), window)

    def _of(self, query: Query, window: float) -> Iterator[Rule]:
        asked, name = query.at(window), promql_duration(window)
        if window != self.period:
            yield self._record(f"{RATIO}{name}", asked.ratio, window)
        if asked.events is None or asked.errors is None:
            return
        by_events = self.slo.spec.budgeting.method == "occurrences" and window == BASE
        times = "" if asked.scale == 1.0 else f" * {asked.scale:g}"
        if self.guarded or by_events:
            yield self._record(f"{EVENTS}{name}", f"({asked.events}){times}", window)
        if by_events:
            yield self._record(f"{ERRORS}{name}", f"{asked.errors}{times}", window)

    def _least(self, name: str) -> str:
        """Return the lower end of Wilson's interval for the share of errors."""
        share = f"clamp_max({RATIO}{name}{self.selector}, 1)"
        events = f"{EVENTS}{name}{self.selector}"
        spread = f"3 * sqrt({share} * (1 - {share}) / {events} + {_Z2 / 4:g} / ({events} * {events}))"
        return (
            f"clamp_min(\n  ({share} + {_Z2 / 2:g} / {events} - {spread})\n  / (1 + {_Z2:g} / {events})\n, 0)"
        )

    def _whole(self) -> Rule:
        """The share of errors over the SLO's whole window."""
        spec, period = self.slo.spec, promql_duration(self.period)
        base = promql_duration(BASE)
        if spec.budgeting.method == "timeslices":
            expr = f"avg_over_time({BAD_SLICE}{self.selector}[{period}])"
        elif spec.budgeting.method == "occurrences" and self.counted:
            errors = f"sum_over_time({ERRORS}{base}{self.selector}[{period}])"
            expr = f"{errors}\n/\n(sum_over_time({EVENTS}{base}{self.selector}[{period}]) > 0)"
        else:
            ratio = spec.budgeting.method == "ratioTimeslices"
            of = f"{RATIO}{promql_duration(spec.budgeting.slice) if ratio else base}{self.selector}[{period}]"
            expr = f"sum_over_time({of})\n/ ignoring (sloth_window)\ncount_over_time({of})"
        return self._record(f"{RATIO}{period}", expr, self.period)

    def _about(self) -> Iterator[Rule]:
        target, days = f"{self.slo.spec.target:.12g}", self.period / 86400
        budget = f"slo:error_budget:ratio{self.selector}"
        per = "/ on(sloth_id, sloth_slo, sloth_service) group_left"
        now = f"{RATIO}{promql_duration(BASE)}{self.selector}"
        whole = f"{RATIO}{promql_duration(self.period)}{self.selector}"
        yield self._record("slo:objective:ratio", f"vector({target})")
        yield self._record("slo:error_budget:ratio", f"vector(1-{target})")
        yield self._record("slo:time_period:days", f"vector({days:.6g})")
        yield self._record("slo:current_burn_rate:ratio", f"{now}\n{per}\n{budget}")
        yield self._record("slo:period_burn_rate:ratio", f"{whole}\n{per}\n{budget}")
        yield self._record(
            "slo:period_error_budget_remaining:ratio", f"1 - slo:period_burn_rate:ratio{self.selector}"
        )
        said = self._record("sloth_slo_info", "vector(1)")
        facts = {
            "sloth_mode": "fleetward",
            "sloth_objective": f"{self.slo.spec.target * 100:.10g}",
            "sloth_spec": API_VERSION,
        }
        yield {**said, "labels": {**said["labels"], **facts}}

    def _burning(self) -> Iterator[Rule]:
        for severity in ("page", "ticket"):
            tiers = [tier for tier in self.slo.spec.burn_tiers if tier.severity == severity]
            if tiers:
                expr = "\nor\n".join(f"(\n{self._pair(tier)}\n)" for tier in tiers)
                yield self._alert(severity, f"{expr}\n", _TOO_FAST, _OVER)

    def _pair(self, tier: Tier) -> str:
        series = LEAST if self.guarded else RATIO
        bound = f"({tier.factor:g} * {1 - self.slo.spec.target:.12g})"
        lines = [
            f"    max({series}{promql_duration(window)}{self.selector} > {bound}) without (sloth_window)"
            for window in (tier.short, tier.long)
        ]
        if self.guarded:
            enough = f"{EVENTS}{promql_duration(tier.long)}{self.selector} >= {self.slo.spec.min_events:g}"
            lines.append(f"    max({enough}) without (sloth_window)")
        return "\n    and\n".join(lines)

    def _fast(self) -> Iterator[Rule]:
        fast = self.slo.spec.fast
        if fast is None or fast.window < SHORTEST:
            return
        for query in self.queries:
            asked = query.at(fast.window)
            expr = f"(\n{asked.ratio}\n) > {1 - fast.below:.12g}"
            if asked.events is not None:
                expr += f"\nand\n({asked.events}) * {asked.scale:g} >= {fast.min_samples:g}"
            rule = self._alert("page", f"{expr}\n", "good share is far below its objective.")
            yield {**rule, "labels": {**self.labels, **rule["labels"]}}

    def _silent(self) -> Iterator[Rule]:
        after = self.slo.spec.no_data.alert_after
        if after is None:
            return
        base = promql_duration(BASE)
        expr = f"absent_over_time({RATIO}{base}{self.selector}[{promql_duration(after)}])"
        rule = self._alert("ticket", expr, "has had no events.")
        yield {**rule, "alert": f"{self.slo.spec.alerts.name}NoData"}

    def _alert(self, severity: str, expr: str, what: str, summary: str = "") -> Rule:
        alerts = self.slo.spec.alerts
        own = alerts.page if severity == "page" else alerts.ticket
        named = "{{$labels.sloth_service}} {{$labels.sloth_slo}}"
        annotations = {
            "title": f"({severity}) {named} {what}",
            "summary": f"{named} {summary or what}",
            **alerts.annotations,
            **own.annotations,
        }
        labels = {**alerts.labels, **own.labels, "sloth_severity": severity}
        return {"alert": alerts.name, "expr": expr, "labels": labels, "annotations": annotations}
