"""The live stream of changes, as server-sent events with resume."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import StreamingResponse

from controlplane.api.problems import responses
from controlplane.api.stream import Hub
from controlplane.kernel.errors import InvalidInput, Unavailable

router = APIRouter(prefix="/events", tags=["events"])


@router.get(
    "",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
        **responses(InvalidInput, Unavailable),
    },
)
async def events(
    request: Request, last_event_id: Annotated[str | None, Header(max_length=20)] = None
) -> StreamingResponse:
    """Follow changes: ``{"id","type","ref"}``; resume with ``Last-Event-ID``.

    ``tick``: the snapshot named by ``ref`` is new. ``reset``: too much was missed, fetch
    everything. ``reconnect``: the stream ends here on purpose.
    """
    hub = request.app.state.hub
    assert isinstance(hub, Hub)  # noqa: S101  create_app put it there
    last_id = _last_id(last_event_id)
    await hub.check()
    return StreamingResponse(
        hub.stream(last_id),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _last_id(text: str | None) -> int | None:
    if text is None or text == "":
        return None
    if not text.isdecimal():
        raise InvalidInput(f"Last-Event-ID {text!r} is not an id of this stream", hint="it is a whole number")
    return int(text)
