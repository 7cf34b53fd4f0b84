"""One /metrics text from a file or an address, whole or not at all: bounded in size and in time.

For people who ask once; the loop asks Prometheus instead. It says what to do when nothing
comes, and never guesses what the bytes mean.
"""

from __future__ import annotations

from pathlib import Path

import httpx

from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import FleetwardError, InvalidInput, NotAllowed, NotFound, Unavailable
from controlplane.observe.exposition import MAX_BYTES

TIMEOUT = httpx.Timeout(5.0)
DEADLINE = 15.0
"""Seconds for the whole answer, however steadily it trickles."""
_ACCEPT = "text/plain;version=0.0.4;q=1.0,application/openmetrics-text;q=0.5,*/*;q=0.1"
_PATHS = "vLLM, SGLang and TGI serve /metrics, NIM /v1/metrics, Triton /metrics on its own port 8002"
_SAVE = "save it with `curl -fsS -H 'Authorization: …' URL > metrics.txt` and give the file"


def fetch(where: str, clock: Clock, transport: httpx.BaseTransport | None = None) -> bytes:
    """Return what a file or an http(s) address holds, at most one byte more than an exposition may have."""
    if where.startswith(("http://", "https://")):
        return _ask(where, clock, transport)
    if "://" in where:
        msg = f"{where} is neither a file nor an http(s) address"
        raise InvalidInput(msg, hint="give a path, http://… or https://…")
    return _load(Path(where))


def _load(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        msg = f"there is no file {file}"
        raise NotFound(
            msg, hint="give a saved /metrics text, or an address that begins with http://"
        ) from error
    except OSError as error:
        msg = f"{file} cannot be read: {error.strerror or type(error).__name__}"
        raise InvalidInput(msg, hint="give one file that holds the text of an engine's /metrics") from error


def _ask(url: str, clock: Clock, transport: httpx.BaseTransport | None) -> bytes:
    try:
        address = httpx.URL(url)
        if address.path in {"", "/"}:
            address = address.copy_with(path="/metrics")
        with (
            httpx.Client(timeout=TIMEOUT, transport=transport, headers={"Accept": _ACCEPT}) as client,
            client.stream("GET", address) as answer,
        ):
            _check(answer, str(address))
            return _drain(answer, str(address), clock)
    except (httpx.InvalidURL, UnicodeError) as error:
        msg = f"{url} is no address: {error}"
        raise InvalidInput(msg, hint="write for example http://host:8000/metrics") from error
    except httpx.TimeoutException as error:
        msg = f"{url} did not answer within {TIMEOUT.read:g} s"
        raise Unavailable(msg, hint="is the engine up, and is this its own port?") from error
    except httpx.RemoteProtocolError as error:
        msg = f"{url} ended its answer before it was whole: {error}"
        raise Unavailable(
            msg, hint="try again; if it stays so, fetch it with curl and give the file"
        ) from error
    except httpx.RequestError as error:
        msg = f"{url} cannot be reached: {error or type(error).__name__}"
        raise Unavailable(msg, hint="is the engine up, and the address right as seen from here?") from error


def _check(answer: httpx.Response, url: str) -> None:
    if answer.is_success:
        return
    status = f"{url} answers {answer.status_code} {answer.reason_phrase}".rstrip()
    raise _refusal(answer, status)


def _refusal(answer: httpx.Response, status: str) -> FleetwardError:
    if answer.status_code == httpx.codes.NOT_FOUND:
        return NotFound(status, hint=_PATHS)
    if answer.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
        return NotAllowed(status, hint=_SAVE)
    if answer.is_redirect:
        return InvalidInput(
            f"{status}, to {answer.headers.get('location')}", hint="give that address instead"
        )
    return Unavailable(status, hint="look at the engine's log; nothing was read")


def _drain(answer: httpx.Response, url: str, clock: Clock) -> bytes:
    """Read until the end, the limit of size or the deadline."""
    began, chunks, size = clock.monotonic(), [], 0
    for chunk in answer.iter_bytes():
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BYTES:
            break
        if clock.monotonic() - began > DEADLINE:
            msg = f"{url} had not ended its answer after {DEADLINE:g} s"
            raise Unavailable(
                msg, hint="it may be a stream, not /metrics; fetch it with curl and give the file"
            )
    return b"".join(chunks)
