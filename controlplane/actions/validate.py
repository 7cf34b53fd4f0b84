"""What the shape of a document cannot tell: unknown actions and faults, parameters, names, references.

It adds problems to a bundle and works on the raw documents, so that a misspelt action is
reported beside a wrong duration in the same file. A reference to a kind of which the
bundle holds nothing is left alone: a single playbook may be checked by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from controlplane.actions.check import validate_parameters
from controlplane.actions.names import Names
from controlplane.actions.objectives import check_objective
from controlplane.actions.semantics import check_together
from controlplane.kernel.errors import InvalidInput, Problem
from controlplane.kernel.registry import did_you_mean
from controlplane.kernel.templating import Vocabulary, check_expression, check_template, templates_in
from controlplane.kernel.yaml import Document, Path
from controlplane.model.action import ActionRegistry
from controlplane.model.documents import Bundle
from controlplane.model.playbook import Playbook
from controlplane.model.triggers.catalogue import installed

RESULT_NAMES = {"result"}

Findings = Iterator[Problem]


def check_bundle(bundle: Bundle, actions: ActionRegistry, faults: Collection[str] | None = None) -> Bundle:
    """Add every semantic problem, and every warning, to ``bundle`` and return it.

    ``faults`` are the names of the fault catalogue; None leaves faults unchecked.
    """
    known = _names_by_kind(bundle)
    playbooks = {each.model.name: each.model for each in bundle.loaded if isinstance(each.model, Playbook)}
    for document in bundle.documents:
        data = document.data
        if not isinstance(data, dict) or not isinstance(data.get("spec"), dict):
            continue
        match data.get("kind"):
            case "Playbook":
                names = Names(data["spec"], actions)
                bundle.problems += [
                    *_steps(document, actions, names),
                    *_named_documents(document, actions, known),
                    *_expressions(document, names),
                    *_step_expressions(document, names),
                    *_triggers(document, known),
                    *_escalations(document, known),
                ]
            case "SLO":
                bundle.problems += [
                    *_reference(document, ("spec", "service"), "Service", known),
                    *check_objective(document),
                ]
            case "PlaybookTest":
                bundle.problems += _test(document, known, playbooks)
            case "Drill":
                bundle.problems += _drill(document, known, faults)
    for finding in check_together(bundle.documents, actions):
        (bundle.warnings if finding.severity == "warning" else bundle.problems).append(finding)
    return bundle


def _names_by_kind(bundle: Bundle) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for document in bundle.documents:
        data = document.data
        metadata = data.get("metadata") if isinstance(data, dict) else None
        if isinstance(metadata, dict):
            known.setdefault(str(data.get("kind")), set()).add(str(metadata.get("name")))
    return known


def _items(value: Any) -> list[tuple[int, dict[str, Any]]]:
    return (
        [(i, item) for i, item in enumerate(value) if isinstance(item, dict)]
        if isinstance(value, list)
        else []
    )


def _steps(document: Document, actions: ActionRegistry, names: Names) -> Findings:
    for index, step in _items(document.data["spec"].get("steps")):
        path: Path = ("spec", "steps", index)
        uses, given = step.get("uses"), step.get("with") or {}
        if not isinstance(uses, str):
            continue
        if uses not in actions:
            nearest = did_you_mean(uses, actions.names())
            yield document.problem((*path, "uses"), f"unknown action `{uses}`", nearest)
        elif isinstance(given, dict):
            known = names.of_parameters(step)
            for inner, message, suggestion in validate_parameters(actions.get(uses), given, known):
                yield document.problem(
                    (*path, "with", *inner), message, suggestion, key=message.startswith("unknown")
                )


def _named_documents(document: Document, actions: ActionRegistry, known: dict[str, set[str]]) -> Findings:
    """Look up the documents that steps name in plain text."""
    for index, step in _items(document.data["spec"].get("steps")):
        uses, given = step.get("uses"), step.get("with")
        if uses not in actions or not isinstance(given, dict):
            continue
        action = actions.get(str(uses))
        for field, kind in action.references.items():
            if field in given and not templates_in(given[field]):
                names = {kind: known[kind] | set(action.shipped(kind))} if kind in known else {}
                yield from _reference(document, ("spec", "steps", index, "with", field), kind, names)


def _expressions(document: Document, names: Names) -> Findings:
    spec = document.data["spec"]
    yield from _expression(document, ("spec", "when"), spec.get("when"), check_expression, names.trigger)
    approval = spec.get("approval")
    if isinstance(approval, dict):
        path: Path = ("spec", "approval", "when")
        yield from _expression(document, path, approval.get("when"), check_expression, names.trigger)
    for index, check in _items(spec.get("verify")):
        path = ("spec", "verify", index)
        condition = check.get("successCondition")
        yield from _expression(
            document, (*path, "successCondition"), condition, check_expression, RESULT_NAMES
        )
        yield from _expression(
            document, (*path, "query"), check.get("query"), check_template, names.at_the_end()
        )
    group = (
        (spec.get("concurrency") or {}).get("group") if isinstance(spec.get("concurrency"), dict) else None
    )
    yield from _expression(document, ("spec", "concurrency", "group"), group, check_template, names.trigger)


def _step_expressions(document: Document, names: Names) -> Findings:
    for index, step in _items(document.data["spec"].get("steps")):
        path: Path = ("spec", "steps", index)
        known = names.of_step(step)
        yield from _expression(document, (*path, "if"), step.get("if"), check_expression, known)
        each, outputs = step.get("forEach"), step.get("outputs")
        items = each.get("items") if isinstance(each, dict) else None
        where = (*path, "forEach", "items")
        yield from _expression(document, where, items, check_expression, known)
        for inner, text in templates_in(items) if isinstance(items, list) else []:
            yield from _expression(document, (*where, *inner), text, check_template, known)
        for name, source in outputs.items() if isinstance(outputs, dict) else []:
            where = (*path, "outputs", name)
            yield from _expression(document, where, source, check_expression, names.of_outputs(step))


def _expression(
    document: Document, path: Path, source: Any, check: Callable[[str, Vocabulary], None], names: Vocabulary
) -> Findings:
    if not isinstance(source, str):
        return
    try:
        check(source, names)
    except InvalidInput as error:
        yield document.problem(path, error.message, error.hint)


def _reference(document: Document, path: Path, kind: str, known: dict[str, set[str]]) -> Findings:
    value: Any = document.data
    for part in path:
        if isinstance(value, list) and isinstance(part, int):
            value = value[part]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    if not isinstance(value, str):
        return
    if kind in known and value not in known[kind]:
        yield document.problem(path, f"there is no {kind} `{value}`", did_you_mean(value, list(known[kind])))


def _escalations(document: Document, known: dict[str, set[str]]) -> Findings:
    on_failure = document.data["spec"].get("onFailure")
    rungs = on_failure.get("escalate") if isinstance(on_failure, dict) else None
    for index, _ in _items(rungs):
        path: Path = ("spec", "onFailure", "escalate", index, "playbook")
        yield from _reference(document, path, "Playbook", known)


def _triggers(document: Document, known: dict[str, set[str]]) -> Findings:
    for index, trigger in _items(document.data["spec"].get("triggers")):
        name = str(trigger.get("type"))
        if name in installed():
            for field, kind in installed().get(name).references.items():
                yield from _reference(document, ("spec", "triggers", index, field), kind, known)


def _test(document: Document, known: dict[str, set[str]], playbooks: Mapping[str, Playbook]) -> Findings:
    """Find scripts and answers for steps that the playbook does not have: they would never be played."""
    spec = document.data["spec"]
    yield from _reference(document, ("spec", "playbook"), "Playbook", known)
    tested = playbooks.get(str(spec.get("playbook")))
    if tested is None:
        return
    steps = [step.id for step in tested.spec.steps]
    places: list[tuple[Path, dict[str, Any]]] = [(("spec",), spec)]
    places += [(("spec", "cases", index), case) for index, case in _items(spec.get("cases"))]
    for path, given in places:
        for inner, name in _named_steps(given):
            if name not in steps:
                message = f"{tested.name} has no step `{name}`"
                nearest = did_you_mean(name, steps)
                yield document.problem((*path, *inner), message, nearest, key=inner[0] == "steps")


def _named_steps(given: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the steps that a case names in what is given, each with its place."""
    scripts = given.get("steps")
    for name in scripts if isinstance(scripts, dict) else ():
        yield ("steps", name), name
    for index, answer in _items(given.get("answers")):
        if isinstance(answer.get("step"), str):
            yield ("answers", index, "step"), answer["step"]


def _drill(document: Document, known: dict[str, set[str]], faults: Collection[str] | None) -> Findings:
    yield from _reference(document, ("spec", "service"), "Service", known)
    yield from _reference(document, ("spec", "recovery", "playbook"), "Playbook", known)
    yield from _reference(document, ("spec", "exercise", "playbook"), "Playbook", known)
    for index, fault in _items(document.data["spec"].get("faults")):
        kind = fault.get("kind")
        if faults is not None and isinstance(kind, str) and kind not in faults:
            path: Path = ("spec", "faults", index, "kind")
            yield document.problem(path, f"unknown fault `{kind}`", did_you_mean(kind, list(faults)))
