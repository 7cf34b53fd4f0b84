"""From what an action returned or raised to an outcome, and from a failure to the time of its retry."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import structlog
from pydantic_core import PydanticSerializationError, to_jsonable_python

from controlplane.kernel.errors import Ambiguous, Fenced, FleetwardError, Unavailable, VersionConflict
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.playbook import Backoff

log = structlog.get_logger(__name__)


def outcome_of(call: Callable[[], Outcome], where: str) -> Outcome:
    """Call, and return what came of it; `Fenced` alone is raised: the caller must stop.

    Outputs and states come back as plain JSON; what is not JSON fails the step.
    """
    try:
        return _jsonable(call())
    except Fenced:
        raise
    except Ambiguous as error:
        return Failed(FailureKind.AMBIGUOUS, str(error))
    except (Unavailable, VersionConflict) as error:
        return Failed(FailureKind.TRANSIENT, str(error))
    except FleetwardError as error:
        return Failed(FailureKind.PERMANENT, str(error))
    except PydanticSerializationError as error:
        return Failed(FailureKind.PERMANENT, f"{where} returned what is not JSON: {error}")
    except Exception as error:
        log.exception("an action broke", where=where)
        return Failed(FailureKind.PERMANENT, f"{where} broke: {type(error).__name__}: {error}")


def _jsonable(outcome: Any) -> Outcome:
    match outcome:
        case Done(outputs=outputs):
            return Done(to_jsonable_python(outputs))
        case Again(state=state):
            return replace(outcome, state=to_jsonable_python(state))
        case Failed(outputs=outputs):
            return replace(outcome, outputs=to_jsonable_python(outputs))
    msg = f"{outcome!r} is not an outcome"
    raise TypeError(msg)


def backoff_seconds(backoff: Backoff, run: str, step: str, attempt: int) -> float:
    """Return how long to wait after the failed ``attempt`` (from 1).

    The jitter is drawn from run, step and attempt: runs that failed together come back
    apart, and the same run always at the same time, so that it can be replayed.
    """
    base = min(backoff.duration * backoff.factor ** (attempt - 1), backoff.max_duration)
    digest = hashlib.sha256(f"{run}/{step}/{attempt}".encode()).digest()
    spread = int.from_bytes(digest[:8], "big") / 2**63 - 1
    return base * (1 + backoff.jitter * spread)
