"""Prompts to single engines, past the gateway: what fills a cache before users come.

It judges no answer: the canary does. It follows no redirect and asks no proxy.
"""

from __future__ import annotations

import httpx

from controlplane.kernel.errors import Refused, Unavailable

TIMEOUT = httpx.Timeout(connect=1.0, write=0.5, read=3.5, pool=0.0)
"""Seconds for each phase; 5 together, shorter than a lease."""


class HttpEngines:
    """Implements `controlplane.model.ports.Engines` over the OpenAI API. Safe between threads."""

    def __init__(self, transport: httpx.BaseTransport | None = None) -> None:
        self._client = httpx.Client(
            transport=transport, timeout=TIMEOUT, trust_env=False, follow_redirects=False
        )

    def close(self) -> None:
        """Close the connections; nothing can be asked any more."""
        self._client.close()

    def complete(self, address: str, *, model: str, prompt: str, max_tokens: int) -> None:
        body = {"model": model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0}
        try:
            response = self._client.post(f"{address}/v1/completions", json=body)
        except httpx.RequestError as error:
            msg = f"the engine at {address} does not answer: {type(error).__name__}"
            raise Unavailable(msg) from error
        if response.is_success:
            return
        msg = f"the engine at {address} answers {response.status_code}"
        if 400 <= response.status_code < 500 and response.status_code != 429:
            raise Refused(msg, hint=response.text[:200] or None)
        raise Unavailable(msg)
