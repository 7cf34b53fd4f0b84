"""Every YAML block in the pages and in docstrings goes through the loader, or says why it cannot."""

import pytest

from controlplane.bootstrap.documents import action_registry
from tests.meta.tree import Source, sources, texts
from tests.meta.yaml_blocks import Block, blocks, docstring_blocks, problems

ACTIONS = action_registry()
IN_PAGES = [block for path, text in texts() if path.endswith(".md") for block in blocks(path, text)]
IN_CODE = [
    block
    for source in sources()
    if not source.path.startswith("tests/")
    for block in docstring_blocks(source)
]


@pytest.mark.parametrize("block", [*IN_PAGES, *IN_CODE], ids=lambda block: block.place)
def test_a_block_loads(block: Block) -> None:
    found = problems(block, ACTIONS)
    assert found == [], "\n".join(found)


def test_there_is_something_to_look_at() -> None:
    assert {block.place.partition(":")[0] for block in IN_PAGES} >= {"README.md", "docs/reference/actions.md"}
    assert "controlplane/actions/traffic_shift.py" in {block.place.partition(":")[0] for block in IN_CODE}


@pytest.mark.parametrize(
    "text",
    [
        "uses: traffic.shift\nwith: {zone: a, weight: 0}",
        "- {id: a, uses: traffic.shift, with: {zone: a, weight: 0}}",
        "- {type: slo, slo: chat-ttft}",
        "steps: [{id: a, uses: traffic.shift, with: {zone: a, weight: 0}}]",
        "throttle: {onceWithin: 1m}",
        "protected: [chat/local/a]",
    ],
)
def test_a_part_is_completed(text: str) -> None:
    assert problems(Block("a.md:1", "", text), ACTIONS) == []


@pytest.mark.parametrize(
    ("info", "text"),
    [
        ("", "uses: trafic.shift\nwith: {zone: a, weight: 0}"),
        ("", "uses: traffic.shift\nwith: {zone: a}"),
        ("", "- {type: slo}"),
        ("", "steps: [{id: a, uses: traffic.shift, with: {zone: a, weight: 0}, if: nope}]"),
        ("", "throttle: {onceWithin: 1}"),
        ("", "nothing: known"),
        ("", "a: ["),
        ("", "apiVersion: fleetward.dev/v1\nkind: Playbok\nmetadata: {name: a}\nspec: {}"),
        ("fragment:", "nothing: known"),
        ("title=x", "throttle: {onceWithin: 1m}"),
    ],
)
def test_a_wrong_block_is_found(info: str, text: str) -> None:
    assert problems(Block("a.md:1", info, text), ACTIONS) != []


def test_a_marked_fragment_is_left_alone() -> None:
    assert problems(Block("a.md:1", "fragment: the rest is elsewhere", "nothing: known"), ACTIONS) == []


def test_blocks_are_found_in_docstrings_at_any_depth() -> None:
    code = 'class A:\n    """A.\n\n    ```yaml\n    - a: 1\n    ```\n    """\n'
    assert [block.text for block in docstring_blocks(Source.parse("a.py", code))] == ["- a: 1"]
