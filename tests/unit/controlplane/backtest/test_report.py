"""The page tells of every field that is printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from controlplane.backtest.report import Answer, Dark, Fired, Missed, Moved, Report, Seen
from controlplane.model.base import Model

PAGE = Path("docs/backtest.md").read_text("utf-8")
MODELS: tuple[type[Model], ...] = (Report, Seen, Dark, Fired, Moved, Answer, Missed)


@pytest.mark.parametrize("model", MODELS, ids=[each.__name__ for each in MODELS])
def test_each_field_is_told(model: type[Model]) -> None:
    missing = [name for name in map(to_camel, model.model_fields) if f"`{name}" not in PAGE]
    assert missing == []
