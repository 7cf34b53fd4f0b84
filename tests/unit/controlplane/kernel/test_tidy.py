"""One layout: the same after the second time, with every comment and the same meaning, or refused."""

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.tidy import tidy

TYPED = """\
# top
spec:   # spec comment
    steps:
    - id: a   # the a
      uses: x
      # before with
      with: {a: 1,   b: "2"}

kind: Playbook
# about metadata
metadata: {labels: {x: y}, name: n}
apiVersion: v1
---
b: [{a: 1}]
"""
LAID_OUT = """\
# top
apiVersion: v1
kind: Playbook
# about metadata
metadata: {name: n, labels: {x: y}}
spec:   # spec comment
  steps:
    - id: a   # the a
      uses: x
      # before with
      with: {a: 1, b: "2"}

---
b: [{a: 1}]
"""


def test_the_envelope_has_an_order_and_comments_stay() -> None:
    assert tidy(TYPED, "f.yaml") == LAID_OUT


@pytest.mark.parametrize("text", ["a: [", "a: 1\na: 2\n", "a: !!python/object:os.system x\n", "a: *x\n"])
def test_what_is_not_valid_is_left_alone(text: str) -> None:
    with pytest.raises(InvalidInput):
        tidy(text, "f.yaml")


_word = st.text("abc #:'\"-{}[]%1.", min_size=1, max_size=6)
_value = st.recursive(
    st.one_of(st.integers(-9, 99), st.booleans(), st.none(), _word),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_word, inner, max_size=3)),
    max_leaves=5,
)
_documents = st.fixed_dictionaries(
    {},
    optional={
        "spec": _value,
        "kind": _word,
        "metadata": st.dictionaries(_word, _value, max_size=2),
        "x": _value,
    },
)
_comments = st.lists(st.sampled_from(["", " # one", "  # two", " #three"]), min_size=1, max_size=4)


def _written(document: dict[str, Any], comments: list[str], flow: bool, indent: int) -> str:
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = flow
    yaml.indent(mapping=indent, sequence=indent + 2, offset=indent)
    stream = io.StringIO()
    yaml.dump(document, stream)
    lines = stream.getvalue().splitlines()
    return "\n".join(f"{line}{comments[n % len(comments)]}" for n, line in enumerate(lines)) + "\n"


@settings(max_examples=12, deadline=None)
@given(_documents, _comments, st.booleans(), st.sampled_from([2, 4]))
def test_any_text_is_refused_or_comes_to_rest_with_its_meaning_and_comments(
    document: dict[str, Any], comments: list[str], flow: bool, indent: int
) -> None:
    text = _written(document, comments, flow, indent)
    try:
        once = tidy(text, "f.yaml")
    except InvalidInput:
        return
    assert tidy(once, "f.yaml") == once
    load = YAML(typ="safe", pure=True).load
    assert load(once) == load(text)
    assert once.count("# one") == text.count("# one")
