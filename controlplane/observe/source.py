"""Prometheus, or anything that speaks its HTTP API, behind three questions: now, over a range, one number.

Calls are bounded in time and never retried here: a tick that waits is worse than a tick
that knows it is blind. Library errors come out as `Unavailable` (no answer) or
`InvalidInput` (it does not understand the query). It refuses to judge what it reads.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from urllib3.util.retry import Retry

from controlplane.kernel import clock as clocks
from controlplane.kernel.errors import FleetwardError, InvalidInput, Unavailable
from controlplane.observe.decoding import Decoder
from controlplane.observe.series import Rows, Track

T = TypeVar("T")

CONNECT_TIMEOUT = 0.5
READ_TIMEOUT = 1.5
"""Seconds. Together the length of a tick, so that one blind tick does not become two."""

RANGE_TIMEOUT = 4.0
"""Seconds. Ranges are read at the start only."""


class PrometheusSource:
    """`Source` and `controlplane.model.ports.Metrics` over HTTP. Safe to share between threads."""

    def __init__(
        self,
        url: str,
        *,
        clock: clocks.Clock | None = None,
        threads: int = 6,
        patience: float = READ_TIMEOUT,
    ) -> None:
        self._url = url.rstrip("/")
        self._clock = clock or clocks.SystemClock()
        self._patience = patience
        self._decoder = Decoder()
        self._local = threading.local()
        self._sessions: list[requests.Session] = []
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="prometheus")

    def close(self) -> None:
        """Stop the threads and close the connections."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        for session in self._sessions:
            session.close()

    def poll(self, queries: Mapping[str, str], at: datetime) -> dict[str, Rows | FleetwardError]:
        return self._all({name: partial(self.vector, text, at) for name, text in queries.items()})

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        return self._all(
            {name: partial(self.matrix, text, start, end, step) for name, text in queries.items()}
        )

    def vector(self, query: str, at: datetime | None = None) -> Rows:
        """Return the series of an instant query; a scalar comes as one row without labels."""
        moment = (at or self._clock.now()).timestamp()
        return self._decoder.rows(query, self._ask(partial(self._instant, query, moment), query))

    def matrix(self, query: str, start: datetime, end: datetime, step: float) -> list[Track]:
        """Return the series of a range query."""
        # The library rounds both ends to whole seconds, and a range must not reach beyond what was asked.
        exact = {"start": f"{start.timestamp():.3f}", "end": f"{end.timestamp():.3f}"}
        answer = self._ask(
            lambda prometheus: prometheus.custom_query_range(
                query, start, end, f"{step:g}", params=exact, timeout=RANGE_TIMEOUT
            ),
            query,
        )
        return tracks_of(answer)

    def instant(self, query: str) -> float | None:
        """Return the one value of ``query``, None without samples or for NaN; see the port `Metrics`."""
        rows = self.vector(query)
        if len(rows) > 1:
            msg = f"the query yields {len(rows)} series, not one: {query}"
            raise InvalidInput(msg, hint="aggregate it, for example with sum(...)")
        return rows[0].value if rows and not math.isnan(rows[0].value) else None

    def _instant(self, query: str, moment: float, prometheus: PrometheusConnect) -> bytes:
        """Ask as `PrometheusConnect.custom_query` does, which hands out no bytes."""
        answer = self._local.session.get(
            f"{prometheus.url}/api/v1/query",
            params={"query": query, "time": f"{moment:.3f}"},
            timeout=(CONNECT_TIMEOUT, self._patience),
        )
        if answer.status_code != requests.codes.ok:
            msg = f"HTTP Status Code {answer.status_code} ({answer.content!r})"
            raise PrometheusApiClientException(msg)
        return bytes(answer.content)

    def _all(self, work: Mapping[str, Callable[[], T]]) -> dict[str, T | FleetwardError]:
        futures = {name: self._pool.submit(call) for name, call in work.items()}
        answers: dict[str, T | FleetwardError] = {}
        for name, future in futures.items():
            try:
                answers[name] = future.result()
            except FleetwardError as error:
                answers[name] = error
        return answers

    def _ask(self, call: Callable[[PrometheusConnect], Any], query: str) -> Any:
        try:
            return call(self._connection())
        except requests.RequestException as error:
            msg = f"the metrics source at {self._url} does not answer ({type(error).__name__})"
            raise Unavailable(msg) from error
        except PrometheusApiClientException as error:
            text = str(error)
            if "Code 400" in text or "Code 422" in text:
                msg = f"the metrics source refuses the query `{query[:200]}`: {text[:300]}"
                raise InvalidInput(msg) from error
            msg = f"the metrics source fails: {text[:300]}"
            raise Unavailable(msg) from error
        except (KeyError, TypeError, ValueError) as error:
            msg = f"the metrics source at {self._url} does not speak the Prometheus API: {error!r}"
            raise Unavailable(msg) from error

    def _connection(self) -> PrometheusConnect:
        """One connection a thread: a session is not made to be shared."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            session = self._local.session = requests.Session()
            # Packing and unpacking megabytes costs both sides more than a local network does.
            session.headers["Accept-Encoding"] = "identity"
            self._sessions.append(session)
            connection = PrometheusConnect(
                self._url,
                retry=Retry(total=0, redirect=0),
                session=session,
                timeout=(CONNECT_TIMEOUT, self._patience),
            )
            self._local.connection = connection
        return connection


def tracks_of(answer: Any) -> list[Track]:
    """Return the series of an answer with several values each."""
    try:
        return [Track(row["metric"], tuple((float(t), float(v)) for t, v in row["values"])) for row in answer]
    except (KeyError, TypeError, ValueError) as error:
        msg = f"the metrics source answers what is no range: {error!r}"
        raise Unavailable(msg) from error
