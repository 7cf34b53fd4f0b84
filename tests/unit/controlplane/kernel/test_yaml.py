"""YAML with positions: 1.2 semantics, duplicates reported, bombs refused, nothing raised."""

from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.yaml import Document, load_documents


def one(text: str) -> Document:
    return next(iter(load_documents(text, "f.yaml")))


def test_follows_yaml_1_2() -> None:
    document = one("a: on\nb: 20:00\nc: yes\nd: 1.10\ne: '1.10'\nf: ~\ng: 0x10\nh: 2026-01-01\ni: true\n")
    assert document.data == {
        "a": "on",
        "b": "20:00",
        "c": "yes",
        "d": 1.1,
        "e": "1.10",
        "f": None,
        "g": 16,
        "h": "2026-01-01",
        "i": True,
    }


def test_every_duplicate_key_is_reported_where_it_stands() -> None:
    document = one("a: 1\nb: 2\na: 3\nb: 4\n")
    assert [(p.line, p.column, p.message) for p in document.problems] == [
        (3, 1, "duplicate key `a`"),
        (4, 1, "duplicate key `b`"),
    ]
    assert document.data == {"a": 1, "b": 2}


def test_remembers_where_values_and_keys_stand() -> None:
    document = one("spec:\n  steps:\n    - id: x\n      uses: y\n")
    assert document.locate(("spec", "steps", 0, "uses")) == (4, 13)
    assert document.locate(("spec", "steps", 0, "uses"), key=True) == (4, 7)
    assert document.locate(("spec", "steps", 0, "missing")) == (3, 7)


def test_alias_bombs_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    document = one("\n".join(lines))
    assert len(document.problems) == 1
    assert "aliases counted" in document.problems[0].message


def test_deep_nesting_and_large_files_are_refused() -> None:
    assert "nests deeper" in one("[" * 200 + "]" * 200).problems[0].message
    assert "over 1 MiB" in one("a: " + "x" * (1 << 20)).problems[0].message


def test_a_syntax_error_says_where_and_keeps_the_documents_before_it() -> None:
    first, second = load_documents("a: 1\n---\nb: [1,\n", "f.yaml")
    assert first.data == {"a": 1}
    assert second.problems[0].line >= 3


def test_tags_cannot_make_objects() -> None:
    assert "not allowed" in one("a: !!python/object:os.system x\n").problems[0].message


@given(st.text(max_size=200))
def test_no_text_makes_it_raise(text: str) -> None:
    for document in load_documents(text, "f.yaml"):
        assert isinstance(document.problems, list)
