"""The Python house rules hold in every module, and each of them can fail."""

from collections.abc import Callable, Iterator

import pytest

from tests.meta import house
from tests.meta.house import Finding
from tests.meta.tree import Source, sources

Rule = Callable[[Source], Iterator[Finding]]

ALLOWED: frozenset[tuple[str, str]] = frozenset()
"""(rule, path) of what breaks a rule and may for now. It may only shrink; it began empty."""

BREAKS = [
    (house.module_size, "controlplane/a.py", "x = 1\n" * 401),
    (house.function_size, "controlplane/a.py", "def f():\n" + "    x = 1\n" * 50),
    (house.function_size, "chaos/a.py", "class A:\n    async def f(self):\n" + "        x = 1\n" * 50),
    (house.module_docstring, "tests/unit/test_a.py", "x = 1\n"),
    (house.bare_except, "controlplane/a.py", "try:\n    f()\nexcept:\n    pass\n"),
    (house.wall_clock, "controlplane/a.py", "from datetime import UTC, datetime\ndatetime.now(UTC)\n"),
    (house.wall_clock, "controlplane/a.py", "import datetime as dt\ndt.datetime.utcnow()\n"),
    (house.wall_clock, "chaos/a.py", "import time\ntime.time()\n"),
    (house.wall_clock, "chaos/a.py", "from time import monotonic as now\ncall(clock=now)\n"),
    (house.wall_clock, "tests/unit/test_a.py", "import time\ntime.sleep(1)\n"),
    (house.wall_clock, "chaos/a.py", "import time\ntime.time()  # house: state - the wrong rule's name\n"),
    (house.state_assignment, "controlplane/a.py", "run.state = 'failed'\n"),
    (house.state_assignment, "controlplane/a.py", "step.done, run.state = True, 'failed'\n"),
    (house.state_assignment, "controlplane/a.py", "setattr(run, 'state', 'failed')\n"),
    (house.state_assignment, "controlplane/store/runs.py", "update(runs).where(x).values(state='failed')\n"),
    (house.state_assignment, "controlplane/store/runs.py", "update(runs).values({'state': 'failed'})\n"),
    (house.state_assignment, "controlplane/a.py", "run.model_copy(update={'state': 'failed'})\n"),
    (house.state_assignment, "chaos/drills/a.py", "dataclasses.replace(fault, state=FaultState.STUCK)\n"),
    (house.state_assignment, "controlplane/a.py", "execute('UPDATE runs SET state = 1')\n"),
    (house.escape_without_reason, "controlplane/a.py", "time.time()  # house: wall-clock\n"),
    (house.escape_without_reason, "controlplane/a.py", "time.time()  # house: clock - some good reason\n"),
]

KEEPS = [
    (house.module_size, "controlplane/a.py", "x = 1\n" * 400),
    (
        house.function_size,
        "controlplane/a.py",
        "def f():\n    '''One.\n\n    Two.\n    '''\n" + "    x = 1\n" * 49,
    ),
    (
        house.function_size,
        "controlplane/store/migrations/versions/0001.py",
        "def f():\n" + "    x = 1\n" * 80,
    ),
    (house.module_docstring, "controlplane/__init__.py", ""),
    (house.bare_except, "controlplane/a.py", "try:\n    f()\nexcept OSError:\n    pass\n"),
    (house.wall_clock, "controlplane/kernel/clock.py", "import time\ntime.time()\n"),
    (house.wall_clock, "tests/integration/test_a.py", "import time\ntime.sleep(1)\n"),
    (house.wall_clock, "controlplane/a.py", "clock.now()\nclock.sleep(1)\nloop.time()\n"),
    (
        house.wall_clock,
        "chaos/a.py",
        "import time\ntime.time()  # house: wall-clock - the peer wants it\n",
    ),
    (house.state_assignment, "controlplane/store/transitions.py", "run.state = 'failed'\n"),
    (house.state_assignment, "controlplane/store/runs.py", "insert(runs).values(state='queued')\n"),
    (house.state_assignment, "controlplane/a.py", "if run.state == 'failed':\n    state = run.state\n"),
    (house.state_assignment, "controlplane/a.py", "replace(verdict, state=verdict.state.calmer())\n"),
    (house.state_assignment, "controlplane/platforms/memory.py", "replica.state = 'ready'\n"),
    (house.state_assignment, "chaos/lab/node.py", "replica.state = 'ready'\n"),
    (house.escape_without_reason, "controlplane/a.py", "x = 1  # house: state - born in this row\n"),
]


@pytest.mark.parametrize("rule", house.RULES, ids=lambda rule: rule.__name__)
def test_rule_holds_in_every_module(rule: Rule) -> None:
    found = [
        str(finding)
        for source in sources()
        for finding in rule(source)
        if (rule.__name__, source.path) not in ALLOWED
    ]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(("rule", "path", "text"), BREAKS)
def test_rule_finds_what_breaks_it(rule: Rule, path: str, text: str) -> None:
    assert len(list(rule(Source.parse(path, text)))) == 1


@pytest.mark.parametrize(("rule", "path", "text"), KEEPS)
def test_rule_leaves_alone_what_keeps_it(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source.parse(path, text))) == []


def test_every_rule_can_fail() -> None:
    assert {rule.__name__ for rule, _, _ in BREAKS} == {rule.__name__ for rule in house.RULES}


def test_allow_list_names_only_what_still_breaks_a_rule() -> None:
    broken = {
        (rule.__name__, source.path) for rule in house.RULES for source in sources() if any(rule(source))
    }
    assert ALLOWED - broken == frozenset()
