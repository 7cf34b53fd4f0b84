"""The reference pages are what the code says, and tell of everything that is shipped."""

import re

from controlplane.bootstrap.reference import FOLDER, render_pages, shipped_actions
from controlplane.kernel.filters import FILTERS, FUNCTIONS, TESTS
from controlplane.model import vocabulary
from controlplane.model.documents import KINDS
from controlplane.model.states import FAULT_MOVES, INCIDENT_MOVES, RUN_MOVES, STEP_MOVES

PAGES = render_pages()


def test_the_files_are_up_to_date() -> None:
    there = {file.name: file.read_text("utf-8") for file in FOLDER.glob("*")}
    wrong = sorted(name for name in there.keys() | PAGES.keys() if there.get(name) != PAGES.get(name))
    assert wrong == [], "run `python -m controlplane.bootstrap.reference --write`"


def test_every_kind_and_every_action_has_its_place() -> None:
    assert {f"{name.lower()}.md" for name in KINDS} <= set(PAGES)
    headings = re.findall(r"^## `(.+)`$", PAGES["actions.md"], re.MULTILINE)
    assert headings == shipped_actions().names()
    for action in shipped_actions():
        missing = [name for name in action.outputs if f"| `{name}` |" not in PAGES["actions.md"]]
        assert missing == [], action.name


def test_everything_that_an_expression_may_use_is_told() -> None:
    told = PAGES["expressions.md"]
    for name in [*FILTERS, *TESTS, *FUNCTIONS, *vocabulary.NAMES, *vocabulary.INCIDENT, *vocabulary.LIMITS]:
        assert f"| `{name}` |" in told, name


def test_every_state_is_drawn() -> None:
    for table in (RUN_MOVES, STEP_MOVES, INCIDENT_MOVES, FAULT_MOVES):
        for old, targets in table.items():
            for new in targets:
                assert f"    {old} --> {new}\n" in PAGES["states.md"]
