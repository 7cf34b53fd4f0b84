"""The house rules for text hold in every file, and each of them can fail."""

from collections.abc import Callable, Iterator

import pytest

from tests.meta import prose
from tests.meta.house import Finding
from tests.meta.tree import texts

Rule = Callable[[str, str], Iterator[Finding]]

BREAKS = [
    (prose.no_registry_host, "a.md", "get it from " + "py" + "pi.org"),
    (prose.no_registry_host, "requirements.lock", "--index https://files.python" + "hosted.org/simple"),
    (prose.no_machine_path, "a.md", "see " + "/ro" + "ot/notes.txt"),
    (prose.no_machine_path, "a.toml", 'path = "' + "/Us" + 'ers/ann/fleet"'),
    (prose.no_desk_words, "a.py", "# TO" + "DO: later"),
    (prose.no_desk_words, "a.md", "written by a sub" + "agent"),
    (prose.no_address_in_lock_file, "web/package-lock.json", '"resolved": "https://example.com/a.tgz"'),
    (prose.no_address_in_lock_file, "requirements.lock", "a @ file:///a.whl"),
]

KEEPS = [
    (prose.no_registry_host, "a.md", "https://fleetward.dev and https://example.org"),
    (prose.no_machine_path, "a.py", "/api/v1/root/x ./work/x https://host/root/x $HOME/x"),
    (prose.no_desk_words, "a.py", "with Session() as session: # the database's session; methods todos"),
    (prose.no_address_in_lock_file, "web/package-lock.json", '    "url": "https://example.com/sponsor"'),
    (prose.no_address_in_lock_file, "README.md", "https://example.com"),
]


@pytest.mark.parametrize("rule", prose.RULES, ids=lambda rule: rule.__name__)
def test_rule_holds_in_every_file(rule: Rule) -> None:
    found = [str(finding) for path, text in texts() for finding in rule(path, text)]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(("rule", "path", "text"), BREAKS)
def test_rule_finds_what_breaks_it(rule: Rule, path: str, text: str) -> None:
    assert len(list(rule(path, text))) == 1


@pytest.mark.parametrize(("rule", "path", "text"), KEEPS)
def test_rule_leaves_alone_what_keeps_it(rule: Rule, path: str, text: str) -> None:
    assert list(rule(path, text)) == []


def test_every_rule_can_fail() -> None:
    assert {rule.__name__ for rule, _, _ in BREAKS} == {rule.__name__ for rule in prose.RULES}


def test_lock_files_are_where_the_rule_looks() -> None:
    assert prose.LOCK_FILES - {path for path, _ in texts()} == frozenset()
