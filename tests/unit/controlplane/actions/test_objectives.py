"""An SLO on what nobody measures is refused, and what would be right is said."""

from __future__ import annotations

import pytest

from controlplane.bootstrap.documents import check_text

HEAD = "apiVersion: fleetward.dev/v1\nkind: SLO\nmetadata: {name: s}\nspec:\n  service: chat\n  target: 99%\n"


@pytest.mark.parametrize(
    ("more", "message", "suggestion"),
    [
        ("indicator: sucess", "there is no indicator `sucess`", "did you mean `success`?"),
        ("indicator: queue", "a number, not a share", "trigger `threshold`"),
        ("indicator: ttft", "needs a threshold", "threshold: 1s"),
        ("indicator: success, threshold: 1s", "has no threshold", "leave it out"),
        ("indicator: {errorRatio: 'e[{{ window }}]'}, threshold: 1s", "has no threshold", "leave it out"),
    ],
)
def test_an_indicator_must_be_a_share_of_events(more: str, message: str, suggestion: str) -> None:
    lines = "".join(f"  {part}\n" for part in more.split(", threshold")[:1])
    lines += "  threshold: 1s\n" if ", threshold" in more else ""
    problems = check_text("f.yaml", HEAD + lines).problems
    assert len(problems) == 1
    assert message in problems[0].message
    assert suggestion in str(problems[0].suggestion)
