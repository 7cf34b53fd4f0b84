"""From a bundle of documents to what is run: each PlaybookTest, its playbook, and what stands beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.model.documents import Bundle, Loaded
from controlplane.model.kind import Kind, Metadata
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy, PolicySpec
from controlplane.model.rehearsal import Case, FleetShape, Given, PlaybookTest
from controlplane.model.service import Service, ServiceSpec, Zone

ZONES = ("zone-a", "zone-b", "zone-c")


@dataclass(frozen=True, slots=True)
class Suite:
    """One PlaybookTest, the playbook it is about, and the documents that may matter to it."""

    test: PlaybookTest
    playbook: Playbook
    beside: tuple[Kind, ...]
    files: tuple[str, str]
    """Where the test stands, and where the playbook does."""
    lines: tuple[int, ...]
    """Where each case begins."""

    @property
    def file(self) -> str:
        return self.files[0]

    @property
    def needed(self) -> list[Playbook]:
        """Return the playbook, and those beside it that it escalates to."""
        rungs = {rung.playbook for rung in self.playbook.spec.on_failure.escalate}
        others = [each for each in self.beside if isinstance(each, Playbook) and each.name in rungs]
        return [self.playbook, *others]

    def given(self, case: Case) -> Given:
        """Return all that a case starts from, defaults filled in."""
        given = case.over(self.test.spec)
        return given if given.fleet is not None else given.model_copy(update={"fleet": FleetShape()})

    def service(self, given: Given) -> Service:
        """Return the Service beside the playbook, or one of the shape that the case asks for."""
        shape = given.fleet or FleetShape()
        found = next(
            (each for each in self.beside if isinstance(each, Service) and each.name == shape.service), None
        )
        zones = tuple(Zone(name=name) for name in shape.zones or ZONES)
        if found is None:
            spec = ServiceSpec(model="model", zones=zones, prompts=shape.prompts, tiers=shape.tiers)
            return Service(metadata=Metadata(name=shape.service), spec=spec)
        changes: dict[str, object] = {"zones": zones} if shape.zones else {}
        changes |= {"prompts": shape.prompts} if shape.prompts else {}
        changes |= {"tiers": shape.tiers} if shape.tiers else {}
        return found.model_copy(update={"spec": found.spec.model_copy(update=changes)}) if changes else found

    def policy(self, given: Given) -> Policy:
        """Return the Policy beside the playbook (or the default), changed as the case says."""
        found = next((each for each in self.beside if isinstance(each, Policy)), None)
        spec = found.spec if found is not None else PolicySpec()
        frame = given.policy
        if frame is not None:
            spec = spec.model_copy(update={name: getattr(frame, name) for name in frame.model_fields_set})
        return Policy(metadata=found.metadata if found is not None else Metadata(name="policy"), spec=spec)


def suites(bundle: Bundle) -> list[Suite]:
    """Return what can be run of a bundle, by file and place; a test without its playbook is no suite."""
    playbooks = {each.model.name: each for each in bundle.loaded if isinstance(each.model, Playbook)}
    beside = tuple(each.model for each in bundle.loaded if not isinstance(each.model, PlaybookTest))
    found = [
        _suite(each, each.model, playbooks[each.model.spec.playbook], beside)
        for each in bundle.loaded
        if isinstance(each.model, PlaybookTest) and each.model.spec.playbook in playbooks
    ]
    return sorted(found, key=lambda suite: (suite.file, suite.lines))


def _suite(entry: Loaded, test: PlaybookTest, playbook: Loaded, beside: Sequence[Kind]) -> Suite:
    assert isinstance(playbook.model, Playbook), "chosen by its kind"  # noqa: S101
    lines = tuple(entry.document.locate(("spec", "cases", index))[0] for index in range(len(test.spec.cases)))
    files = (entry.document.file, playbook.document.file)
    return Suite(test, playbook.model, tuple(beside), files, lines)
