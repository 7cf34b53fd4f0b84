"""``fleetward schema``: the JSON Schema of each kind, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.output import out
from controlplane.kernel.errors import NotFound
from controlplane.kernel.registry import did_you_mean


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    kind: Annotated[
        str | None, typer.Argument(help="A kind, in any case; `all` takes a document of any kind.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write files into this folder, made if need be.")
    ] = None,
) -> None:
    """Write the JSON Schema of a kind, or of every kind, with the actions that are installed here.

    Without a folder it goes to standard output, without a kind too the kinds are listed. In a file,
    `# yaml-language-server: $schema=FOLDER/playbook.json` lets the editor help.
    """
    from controlplane.bootstrap.documents import json_schemas

    found = json_schemas()
    if kind is not None:
        name = kind.lower()
        if name not in found:
            msg = f"there is no kind `{kind}`"
            raise NotFound(msg, hint=did_you_mean(name, list(found)))
        found = {name: found[name]}
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        for name, body in found.items():
            file = directory / f"{name}.json"
            file.write_text(_text(body), encoding="utf-8")
            out.print(str(file), markup=False, soft_wrap=True)
    elif kind is None:
        for name, body in found.items():
            out.print(f"{name:10} {body['description']}", markup=False, soft_wrap=True)
    else:
        typer.echo(_text(next(iter(found.values()))), nl=False)


def _text(body: object) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"
