"""The embedded fleet as a platform: its control API over HTTP.

Every error of the HTTP client becomes one of the kernel's tree, by one question: can the
effect have happened? A connection that never was is `Unavailable`; a write that was sent and
not answered is `Ambiguous`. One call ends within `CALL_TIMEOUT`, however many requests it makes.
It refuses to retry what was sent, and to follow redirects or proxies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from controlplane.kernel.clock import Clock, SystemClock
from controlplane.kernel.errors import (
    Ambiguous,
    Conflict,
    Fenced,
    FleetwardError,
    InvalidInput,
    NotFound,
    Unavailable,
    VersionConflict,
)
from controlplane.model.target import Target
from controlplane.model.topology import Admission, Scale, Topology, Weights, WriteRecord, WriteTag
from controlplane.platforms.port import (
    CALL_TIMEOUT,
    check_changes,
    check_limit,
    check_node,
    check_replica,
    check_tiers,
    check_zone,
)

CONNECT_TIMEOUT = 1.0
"""Seconds; the lab is on loopback."""

_MERGES = 3
_ERRORS: dict[str, type[FleetwardError]] = {
    error.code: error
    for error in (Ambiguous, Conflict, Fenced, InvalidInput, NotFound, Unavailable, VersionConflict)
}
_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
)

M = TypeVar("M", bound=BaseModel)


class _Writes(BaseModel):
    writes: list[WriteRecord]


class _Renewed(BaseModel):
    uid: str


class _Declared(BaseModel):
    version: str


class _Shown(BaseModel):
    highest: int


class LabPlatform:
    """The lab behind ``url``, the ``platform`` address of ``lab.json``. Safe between threads."""

    def __init__(
        self, url: str, *, clock: Clock | None = None, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._client = httpx.Client(
            base_url=url, transport=transport, trust_env=False, follow_redirects=False
        )

    def close(self) -> None:
        """Close the connections; the platform cannot be used any more."""
        self._client.close()

    def topology(self, service: str) -> Topology:
        return self._topology(service, self._deadline())

    def weights(self, service: str) -> Weights:
        deadline = self._deadline()
        self._topology(service, deadline)
        return self._weights(deadline)

    def set_weights(
        self, service: str, changes: Mapping[str, int], *, expected_version: str | None, by: WriteTag | None
    ) -> Weights:
        deadline = self._deadline()
        self._topology(service, deadline)
        for last in (False,) * (_MERGES - 1) + (True,):
            present = self._weights(deadline)
            body = {
                "weights": check_changes(present.weights, changes),
                # The lab takes all weights at once, so even an unconditional write names the version it
                # was made from: whoever changes another zone in between is not overwritten.
                "expectedVersion": expected_version or present.version,
                "by": _tag(by),
            }
            try:
                return self._send("PUT", "/v1/weights", Weights, deadline, body)
            except VersionConflict:
                if last or expected_version is not None:
                    raise
        raise AssertionError

    def admission(self, service: str) -> Admission:
        deadline = self._deadline()
        self._topology(service, deadline)
        return self._read("/v1/admission", Admission, deadline)

    def set_limit(
        self, target: Target, limit: int | None, *, expected_version: str | None, by: WriteTag | None
    ) -> Admission:
        path = f"/v1/zones/{check_limit(target, limit)}/limit"
        deadline = self._deadline()
        self._known(target, deadline)
        body = {"value": limit, "expectedVersion": expected_version, "by": _tag(by)}
        return self._send("PUT", path, Admission, deadline, body)

    def set_shed(
        self, service: str, tiers: Sequence[str], *, expected_version: str | None, by: WriteTag | None
    ) -> Admission:
        deadline = self._deadline()
        self._topology(service, deadline)
        body = {"value": check_tiers(tiers), "expectedVersion": expected_version, "by": _tag(by)}
        return self._send("PUT", "/v1/shed", Admission, deadline, body)

    def scale(self, target: Target) -> Scale:
        path = f"/v1/zones/{check_zone(target)}/scale"
        deadline = self._deadline()
        self._known(target, deadline)
        return self._read(path, Scale, deadline)

    def set_scale(
        self, target: Target, replicas: int, *, expected_version: str | None, by: WriteTag | None
    ) -> Scale:
        path = f"/v1/zones/{check_zone(target)}/scale"
        deadline = self._deadline()
        self._known(target, deadline)
        body = {"value": replicas, "expectedVersion": expected_version, "by": _tag(by)}
        return self._send("PUT", path, Scale, deadline, body)

    def restart_replica(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        path = f"/v1/replicas/{check_replica(target)}/restart"
        return self._renew(path, target, expected_uid, reason, by)

    def recycle_gpu(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        path = f"/v1/replicas/{check_replica(target)}/recycle"
        return self._renew(path, target, expected_uid, reason, by)

    def replace_node(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        path = f"/v1/nodes/{check_node(target)}/replace"
        return self._renew(path, target, expected_uid, reason, by)

    def set_rotation(
        self,
        target: Target,
        in_rotation: bool,  # noqa: FBT001 - as the port has it
        *,
        expected_version: str | None,
        by: WriteTag | None,
    ) -> str:
        path = f"/v1/replicas/{check_replica(target)}/rotation"
        return self._declare(path, target, in_rotation, expected_version, by)

    def set_schedulable(
        self,
        target: Target,
        schedulable: bool,  # noqa: FBT001 - as the port has it
        *,
        expected_version: str | None,
        by: WriteTag | None,
    ) -> str:
        path = f"/v1/nodes/{check_node(target)}/schedulable"
        return self._declare(path, target, schedulable, expected_version, by)

    def show_fence(self, service: str, *, by: WriteTag) -> None:
        deadline = self._deadline()
        self._topology(service, deadline)
        self._send("PUT", "/v1/fence", _Shown, deadline, {"by": _tag(by)})

    def writes(self, after: int = 0) -> list[WriteRecord]:
        return self._read(f"/v1/writes?after={after}", _Writes, self._deadline()).writes

    # ── inside ──────────────────────────────────────────────────────────────────────────────────────────────

    def _deadline(self) -> float:
        return self._clock.monotonic() + CALL_TIMEOUT

    def _renew(
        self, path: str, target: Target, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        deadline = self._deadline()
        self._known(target, deadline)
        body = {"expectedUid": expected_uid, "reason": reason[:500], "by": _tag(by)}
        return self._send("POST", path, _Renewed, deadline, body).uid

    def _declare(
        self, path: str, target: Target, value: Any, expected_version: str | None, by: WriteTag | None
    ) -> str:
        deadline = self._deadline()
        self._known(target, deadline)
        body = {"value": value, "expectedVersion": expected_version, "by": _tag(by)}
        return self._send("PUT", path, _Declared, deadline, body).version

    def _known(self, target: Target, deadline: float) -> None:
        """Raise `NotFound` unless exactly this target is there: a name alone may be found elsewhere."""
        if target not in self._topology(target.service, deadline).targets():
            msg = f"no {target.level} {target}"
            raise NotFound(msg)

    def _topology(self, service: str, deadline: float) -> Topology:
        topology = self._read("/v1/topology", Topology, deadline)
        if topology.service != service:
            msg = f"no service `{service}`"
            raise NotFound(msg, hint=f"services: {topology.service}")
        return topology

    def _weights(self, deadline: float) -> Weights:
        return self._read("/v1/weights", Weights, deadline)

    def _read(self, path: str, model: type[M], deadline: float) -> M:
        try:
            response = self._client.get(path, timeout=self._timeout(deadline))
        except httpx.RequestError as error:
            msg = f"the lab does not answer: {_describe(error)}"
            raise Unavailable(msg) from error
        return self._parse(response, model, Unavailable)

    def _send(self, method: str, path: str, model: type[M], deadline: float, body: Any) -> M:
        try:
            response = self._client.request(method, path, json=body, timeout=self._timeout(deadline))
        except _NEVER_SENT as error:
            msg = f"the lab cannot be reached, nothing was done: {_describe(error)}"
            raise Unavailable(msg) from error
        except httpx.RequestError as error:
            msg = f"the lab did not say whether it was done: {_describe(error)}"
            raise Ambiguous(msg) from error
        return self._parse(response, model, Ambiguous)

    def _timeout(self, deadline: float) -> httpx.Timeout:
        left = deadline - self._clock.monotonic()
        if left <= 0:
            msg = f"the lab took over {CALL_TIMEOUT:.0f} s, nothing was done"
            raise Unavailable(msg)
        return httpx.Timeout(left, connect=min(CONNECT_TIMEOUT, left))

    def _parse(self, response: httpx.Response, model: type[M], doubt: type[Unavailable | Ambiguous]) -> M:
        """Return the answer; raise what the lab says, or ``doubt`` when it says nothing that makes sense."""
        if response.is_success:
            try:
                return model.model_validate_json(response.content)
            except ValidationError as error:
                msg = f"the lab's answer to {response.request.url.path} makes no sense"
                raise doubt(msg) from error
        try:
            document = response.json()
            kind, message = _ERRORS[document["code"]], str(document["message"])
        except (ValueError, LookupError, TypeError) as error:
            msg = f"the lab answers {response.status_code} to {response.request.url.path}"
            raise doubt(msg) from error
        raise kind(message)


def _tag(by: WriteTag | None) -> dict[str, Any] | None:
    return by.model_dump(mode="json", by_alias=True) if by else None


def _describe(error: httpx.RequestError) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
