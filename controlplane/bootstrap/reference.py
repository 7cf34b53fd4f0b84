"""The reference pages as files: ``python -m controlplane.bootstrap.reference --check | --write``.

Only what this repository ships is described, whatever else is installed. ``--check`` fails
when a page is not what the code says, or when one lies there that nobody makes any more.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from controlplane.actions import pages
from controlplane.actions.schema import describe, schema_of
from controlplane.bootstrap.documents import action_registry, fault_names
from controlplane.bootstrap.engines_page import engines_page
from controlplane.bootstrap.levers_page import levers_page
from controlplane.decide.levers import book
from controlplane.kernel.registry import Registry
from controlplane.kernel.yaml import load_documents
from controlplane.model.action import ActionRegistry
from controlplane.model.documents import KINDS
from controlplane.observe.matrix import matrix
from controlplane.observe.profile import shipped

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"
EXAMPLES = ("playbooks", "chaos/lab/fleet", "chaos/catalog")
OURS = ("controlplane.", "chaos.")


def render_pages() -> dict[str, str]:
    """Return every page by its file's name."""
    actions = shipped_actions()
    made: dict[str, tuple[str, str]] = {}
    for name, kind in KINDS.items():
        schema = schema_of(kind, actions, fault_names())
        made[f"{name.lower()}.md"] = (
            f"the kind {name}: {describe(kind)}",
            pages.kind_page(schema, example(name)),
        )
    made["actions.md"] = ("what a step can do", pages.actions_page(actions))
    made["expressions.md"] = ("what conditions and `{{ }}` may say", pages.expressions_page())
    made["checks.md"] = ("what `fleetward validate` finds in well-formed documents", pages.checks_page())
    made["states.md"] = ("the states of runs, steps, incidents and faults", pages.states_page())
    made["engines.md"] = (
        "which engine gives which indicator, exactly or as a bound",
        engines_page(matrix(shipped())),
    )
    made["levers.md"] = ("what can be done about each indicator, and what speaks for it", levers_page(book()))
    index = pages.index_page((file, what) for file, (what, _) in made.items())
    return {"README.md": index} | {file: text for file, (_, text) in made.items()}


def shipped_actions() -> ActionRegistry:
    """Return the installed actions that are ours."""
    found: ActionRegistry = Registry("action")
    for action in action_registry():
        if type(action).__module__.startswith(OURS):
            found.add(action.name, action)
    return found


def example(kind: str) -> str:
    """Return the first shipped document of a kind, as it is written."""
    for folder in EXAMPLES:
        for file in sorted((ROOT / folder).glob("*.yaml")):
            for document in load_documents(file.read_text("utf-8"), str(file)):
                if document.data.get("kind") == kind:
                    return document.text.strip().removesuffix("---")
    msg = f"no {kind} is shipped"
    raise LookupError(msg)


def main() -> int:
    """Write the pages, or tell by the exit code whether they are up to date."""
    parser = argparse.ArgumentParser(prog="python -m controlplane.bootstrap.reference")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--check", action="store_true", help="fail when a page is out of date")
    how.add_argument("--write", action="store_true", help="write docs/reference")
    made = render_pages()
    there = {file.name: file.read_text("utf-8") for file in FOLDER.glob("*.md")}
    if parser.parse_args().write:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name in there.keys() - made.keys():
            (FOLDER / name).unlink()
        for name, text in made.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        return 0
    wrong = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
    for name in wrong:
        sys.stderr.write(f"docs/reference/{name} is out of date\n")
    if wrong:
        sys.stderr.write("run `python -m controlplane.bootstrap.reference --write`\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
