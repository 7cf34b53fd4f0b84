"""How every process logs: one JSON object a line on standard error, whoever wrote it.

Standard output belongs to answers alone, so that ``-o json`` can be piped whatever happens. Other
packages' loggers (Celery, uvicorn, Alembic) speak the same form from warnings on.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import structlog


def configure() -> None:
    """Set up logging for this process; what somebody else has set up for the standard library stays."""
    structlog.configure(
        processors=[*_shared(), structlog.processors.JSONRenderer(default=str)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=_to_standard_error,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler(sys.stderr)])


def quiet() -> None:
    """Leave out all but errors: for commands that play a run and show what came of it themselves."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))


def handler(stream: TextIO) -> logging.Handler:
    """Return a handler that writes the standard library's records in our form."""
    made = logging.StreamHandler(stream)
    made.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *_shared()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(default=str),
            ],
        )
    )
    return made


def _shared() -> list[structlog.types.Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.format_exc_info,
    ]


def _to_standard_error(*_: Any) -> structlog.WriteLogger:
    """Look the stream up at each use: it may be replaced (a daemon's, a test's)."""
    return structlog.WriteLogger(sys.stderr)
