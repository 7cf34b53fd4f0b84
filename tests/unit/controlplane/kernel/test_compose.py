"""libyaml and ruamel.yaml say the same: every file that is shipped, and whatever both of them take."""

import itertools
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel import compose
from controlplane.kernel.compose import Node, NotYaml

ROOT = Path(__file__).parents[4]
SHIPPED = [
    *sorted(ROOT.glob("playbooks/*.yaml")),
    *sorted(ROOT.glob("chaos/catalog/*.yaml")),
    *sorted(ROOT.glob("controlplane/**/*.yaml")),
]
PIECES = st.sampled_from(
    [
        *(
            "a",
            "b",
            "on",
            "1",
            "1.10",
            "0x1f",
            "0o17",
            "1e3",
            "1_000",
            ".5",
            "-.inf",
            "20:00",
            "~",
            "null",
            "true",
        ),
        *(
            "a: ",
            "b: ",
            "? ",
            ": ",
            "- ",
            "[",
            "]",
            "{",
            "}",
            ", ",
            "&x ",
            "*x",
            "!",
            "!!str ",
            "!own ",
            "<<: ",
        ),
        *(
            '"q"',
            "'q'",
            "'it''s'",
            '"\\n\\u00e9"',
            "|\n",
            ">\n",
            "|-\n",
            "# c\n",
            "%YAML 1.1\n",
            "---\n",
            "...\n",
        ),
        *("\n", "\n  ", "\n    ", " ", "\t", "é", "\x85", "=", "@", "http://x/y?z#w", "{{ a }}", '"{{ b }}"'),
    ]
)


def same(one: Node, other: Node) -> bool:
    """Tell whether two nodes say the same at the same place; where nothing stands has no place."""
    if (one.kind, one.tag) != (other.kind, other.tag):
        return False
    if one.kind == "scalar":
        places = [(node.line, node.column) for node in (one, other)]
        return bool(one.value == other.value and (one.value == "" or places[0] == places[1]))
    inside = [
        list(itertools.chain(*node.value)) if one.kind == "mapping" else node.value for node in (one, other)
    ]
    return (one.line, one.column) == (other.line, other.column) and alike(*inside)


def alike(some: list[Node], others: list[Node]) -> bool:
    return len(some) == len(others) and all(map(same, some, others))


def by_libyaml(text: str) -> list[Node] | None:
    """Return what libyaml says; None where it is not asked, or has no answer."""
    try:
        return list(compose._by_libyaml(text))
    except (yaml.YAMLError, compose._Otherwise):
        return None


def test_libyaml_is_there() -> None:
    assert compose.LIBYAML


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_shipped_file_is_read_alike(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = by_libyaml(text)
    assert found is not None
    assert alike(found, list(compose._by_ruamel(text)))


@given(st.lists(PIECES, max_size=30).map("".join))
def test_what_both_take_they_read_alike(text: str) -> None:
    found = by_libyaml(text)
    if found is None or not compose._OTHERWISE.isdisjoint(text):
        return
    if "!" in text and "&" in text:
        return  # of a node with a tag and a name they call another one of these its beginning
    try:
        assert alike(found, list(compose._by_ruamel(text)))
    except (NotYaml, RecursionError):  # the second: an alias inside of what it names
        return


def test_a_text_that_nests_too_deeply_is_left_to_ruamel() -> None:
    assert by_libyaml("[" * 65 + "]" * 65) is not None
    assert by_libyaml("[" * 66 + "]" * 66) is None
    assert by_libyaml("- " * 100_000) is None


@pytest.mark.parametrize("text", ["a:\t1", "%YAML 1.1\n---\na: 1", "a: !", "|\n...\n", "a: *x", "\ufeffa: 1"])
def test_what_they_take_otherwise_is_left_to_ruamel(text: str) -> None:
    def read() -> list[Node] | str:
        try:
            return list(compose.compose(text))
        except NotYaml as error:
            return str(error)

    found = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compose, "LIBYAML", False)
        assert read() == found


def test_it_works_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "LIBYAML", False)
    (node,) = compose.compose("a: [1, on]\n")
    ((_, items),) = node.value
    assert [(each.tag, each.value) for each in items.value] == [("int", "1"), ("str", "on")]
