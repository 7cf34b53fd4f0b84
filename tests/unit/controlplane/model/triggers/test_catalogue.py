"""The catalogue: types found by file and by entry point, chosen by `type`, complete in the schema."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.decide import triggers
from controlplane.model.documents import load_bundle
from controlplane.model.playbook import Playbook
from controlplane.model.triggers import catalogue
from controlplane.model.triggers.base import Facts, Trigger
from tests.unit.controlplane.decide.fleet import at
from tests.unit.controlplane.decide.verdicts import incident, playbook

LEAK = '''
"""A type as a third party writes it: one file."""

from typing import Literal

from controlplane.model.base import Name
from controlplane.model.triggers.base import Trigger


class LeakTrigger(Trigger):
    """Fires on a series that only grows."""

    type: Literal["leak"]
    series: Name

    def answers(self, signal):
        return signal.kind == "leak" and signal.name == self.series


def register(registry):
    registry.add("leak", LeakTrigger)
'''
PLAYBOOK = """
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: plug}
spec:
  triggers: [TRIGGER]
  steps: [{id: wait, uses: query.wait}]
"""


def problems(trigger: str) -> list[tuple[int, str, str, str | None]]:
    bundle = load_bundle([("plug.yaml", PLAYBOOK.replace("TRIGGER", trigger))])
    return [(each.line, each.path, each.message, each.suggestion) for each in bundle.problems]


@pytest.fixture
def leak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package with one more type, as pip would leave it behind."""
    (tmp_path / "plumber.py").write_text(LEAK, encoding="utf-8")
    info = tmp_path / "plumber-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plumber\nVersion: 1.0\n", encoding="utf-8")
    points = f"[{catalogue.GROUP}]\nleak = plumber:register\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    catalogue.installed.cache_clear()
    yield
    sys.modules.pop("plumber", None)
    catalogue.installed.cache_clear()


def schema_types() -> set[str]:
    schema = Playbook.model_json_schema(by_alias=True)
    items = schema["$defs"]["PlaybookSpec"]["properties"]["triggers"]["items"]
    assert {ref["$ref"] for ref in items["oneOf"]} == set(items["discriminator"]["mapping"].values())
    for ref in items["oneOf"]:
        assert schema["$defs"][ref["$ref"].rsplit("/", 1)[1]]["description"]
    return set(items["discriminator"]["mapping"])


def test_every_file_of_the_folder_is_a_type_of_its_own_name() -> None:
    files = {path.stem for path in Path(catalogue.__file__).parent.glob("*.py")}
    assert set(catalogue.installed().names()) == files - {"__init__", "base", "catalogue"}


def test_the_schema_holds_exactly_what_is_installed() -> None:
    assert schema_types() == set(catalogue.installed().names())


def test_an_unknown_type_is_answered_with_the_nearest_one() -> None:
    found = problems("{type: treshold, indicator: queue, above: 3}")
    assert [(line, path, message) for line, path, message, _ in found] == [
        (6, "spec.triggers[0].type", "unknown type `treshold`")
    ]
    assert found[0][3] == "did you mean `threshold`?"


@pytest.mark.parametrize(
    ("trigger", "path", "message"),
    [
        ("{type: slo, slo: chat-itl, tier: [page]}", "spec.triggers[0].tier", "unknown key `tier`"),
        ("{type: slo}", "spec.triggers[0]", "`slo` is missing"),
        ("{slo: chat-itl}", "spec.triggers[0]", "`type` is missing"),
        ("{type: threshold, indicator: queue}", "spec.triggers[0]", "write either `above` or `below`"),
        ("slo", "spec.triggers[0]", "Input should be a valid dictionary or instance of _Tagged"),
    ],
)
def test_mistakes_are_told_at_their_place(trigger: str, path: str, message: str) -> None:
    assert [each[1:3] for each in problems(trigger)] == [(path, message)]


def test_a_misspelt_key_is_answered_with_the_keys_of_its_type() -> None:
    assert problems("{type: slo, slo: chat-itl, tier: [page]}")[0][3] == "did you mean `tiers`?"


def test_a_trigger_is_written_out_as_what_it_is() -> None:
    book = playbook(triggers=[{"type": "threshold", "indicator": "queue", "above": 5, "for": "1m"}])
    body: dict[str, Any] = book.model_dump(mode="json", by_alias=True)
    written = {"type": "threshold", "indicator": "queue", "above": 5.0, "below": None, "for": "1m"}
    assert body["spec"]["triggers"] == [{**written, "by": "replica", "evacuated": False}]
    assert Playbook.model_validate(body) == book


def test_a_type_must_have_one_name() -> None:
    class Nameless(Trigger):
        """Says no name."""

    with pytest.raises(TypeError, match="Literal of one name"):
        Nameless.name_of_type()


def test_one_more_type_is_one_file_that_loads_validates_appears_in_the_schema_and_fires(leak: None) -> None:
    assert "leak" in schema_types()
    assert problems("{type: leak, series: heap}") == []
    told = ("unknown key `serie`", "did you mean `series`?")
    assert told in [each[2:] for each in problems("{type: leak, serie: heap}")]
    book = playbook(triggers=[{"type": "leak", "series": "heap"}])
    heap = incident(at("a/a1/0"), name="heap", kind="leak")
    assert [each.name for each in triggers.candidates([book], [heap], Facts({}, {}))] == ["leak"]


def test_without_its_package_the_type_is_unknown() -> None:
    assert problems("{type: leak, series: heap}")[0][2] == "unknown type `leak`"
