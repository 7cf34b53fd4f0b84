"""Where a backtest is not what would have been, in words; and the one thing that it changes of the documents.

A window shorter than two scrapes holds nothing to judge: it is widened, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from controlplane.backtest.alerts import names_of
from controlplane.controller.inputs import Documents
from controlplane.kernel.durations import format_duration
from controlplane.model.slo import Slo

LEAST_SCRAPES = 2
"""Scrapes that a window must span."""

_NO_EFFECT = """\
What a run would have changed is not in the record: it would have been started, and what followed is as \
recorded. Each is taken to be at work for a moment and to help; while its incident is open, what it would \
take out of service counts for the guards."""
_NO_CANARY = """\
No canary was asked: a second witness is missing, so that some incidents fire a look later, and what waits \
for a canary's word (giving traffic back) is not called for."""
_YOUNG = "Windows begin with six hours of history before the span; what is longer fills up within it."


def widened(slo: Slo, tick: float) -> Slo:
    """Return the objective with a fast window of two scrapes at least; itself where it has one."""
    fast, least = slo.spec.fast, LEAST_SCRAPES * tick
    if fast is None or fast.window >= least:
        return slo
    wider = fast.model_copy(update={"window": least})
    return slo.model_copy(update={"spec": slo.spec.model_copy(update={"fast": wider})})


def notes(
    documents: Documents, ticks: Mapping[str, tuple[float, Sequence[str]]], assumed: Sequence[str]
) -> Iterator[str]:
    """Say what is not as it would have been."""
    yield from (_NO_EFFECT, _NO_CANARY, _YOUNG)
    for service, (tick, slos) in ticks.items():
        if slos:
            names, least = ", ".join(slos), format_duration(LEAST_SCRAPES * tick)
            yield (
                f"{service} was scraped every {format_duration(tick)}: the fast windows of {names} are "
                f"shorter than two scrapes, and were judged over {least}."
            )
    if assumed:
        yield (
            f"The zones' weights of {', '.join(assumed)} are not recorded (fleetward_zone_weight): every "
            "active zone is taken to have had traffic."
        )
    of_alerts = names_of(documents.playbooks.values())
    if of_alerts:
        yield (
            f"The alert triggers of {', '.join(of_alerts)} go by Prometheus' own ALERTS: what Alertmanager "
            "silenced or inhibited is not in there."
        )
