"""The built console at ``/``: files by name, and the page itself for every path that is a view of it.

Files under ``assets/`` carry their hash in their name and never change; everything else is
asked for anew. A missing build is an answer that says how to make one, not a 500.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, PlainTextResponse, Response

FOREVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
NOT_BUILT = """\
The console is not built: run `npm ci && npm run build` in web/.
The API is described at /api/v1/openapi.json.
"""


def mount(app: FastAPI, folder: Path | None) -> None:
    """Serve ``folder`` (the console's build) on every path that no route has taken."""

    @app.api_route("/{path:path}", methods=["GET", "HEAD"], include_in_schema=False)
    def console(path: str, request: Request) -> Response:
        if path.startswith("api/"):
            raise HTTPException(404, f"there is nothing at /{path}")
        if folder is None or not (folder / "index.html").is_file():
            return PlainTextResponse(NOT_BUILT, status_code=503)
        file = _inside(folder, path)
        if file is not None:
            cache = FOREVER if path.startswith("assets/") else ASK_AGAIN
            return FileResponse(file, headers={"Cache-Control": cache})
        if "text/html" not in request.headers.get("accept", "*/*") and "." in path.rpartition("/")[2]:
            raise HTTPException(404, f"there is nothing at /{path}")
        return FileResponse(folder / "index.html", headers={"Cache-Control": ASK_AGAIN})


def _inside(folder: Path, path: str) -> Path | None:
    """Return the file that ``path`` names, if it is one and lies inside ``folder``."""
    root = folder.resolve()
    file = (root / path).resolve()
    return file if file.is_file() and file.is_relative_to(root) else None
