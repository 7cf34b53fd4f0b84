"""Prewarming on real engines: what users begin with is in the cache when the first of them comes."""

import re

import httpx
import pytest

from chaos.lab.traffic.prompts import SYSTEM_PROMPTS, Prompts
from controlplane.observe.prompts import HttpEngines
from tests.integration.lab.conftest import Users, wait_until

pytestmark = pytest.mark.slow

COLD, WARM = "replica-a1-0", "replica-a1-1"
FIRST_USERS = 6


def test_the_first_users_of_a_replica_that_was_prewarmed_find_their_system_prompts(users: Users) -> None:
    for name in (COLD, WARM):
        _rotate(users, name, value=False)
        users.http.post(
            f"{users.url('platform')}/v1/replicas/{name}/restart",
            json={"expectedUid": None, "reason": "cold", "by": None},
        )
    ready = wait_until(lambda: all(users.replicas()[name]["ready"] for name in (COLD, WARM)), 20)
    assert ready
    engines = HttpEngines()
    model = str(users.http.get(f"{_address(users, WARM)}/v1/models").json()["data"][0]["id"])
    for prompt in SYSTEM_PROMPTS[:4]:
        engines.complete(_address(users, WARM), model=model, prompt=prompt, max_tokens=1)
    engines.close()

    rates = {name: _hit_rate_of_the_first_users(users, name, model) for name in (COLD, WARM)}

    for name in (COLD, WARM):
        _rotate(users, name, value=True)
    assert rates[WARM] > 1.5 * rates[COLD]
    assert rates[WARM] > 0.2


def _hit_rate_of_the_first_users(users: Users, name: str, model: str) -> float:
    """Ask what the first users ask, and return the share of their prompts' tokens found in the cache."""
    before = _counters(users, name)
    prompts = Prompts(11)
    for index in range(FIRST_USERS):
        prompt = prompts.prompt(index, 300)
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        body = {"model": model, "messages": messages, "max_tokens": 1}
        users.http.post(f"{_address(users, name)}/v1/chat/completions", json=body).raise_for_status()
    queries, hits = (now - then for now, then in zip(_counters(users, name), before, strict=True))
    return hits / queries


def _counters(users: Users, name: str) -> tuple[float, float]:
    text = httpx.get(f"{_address(users, name)}/metrics", trust_env=False, timeout=5).text
    return tuple(  # type: ignore[return-value]
        sum(map(float, re.findall(rf"^vllm:prefix_cache_{what}_total{{.*}} (\S+)$", text, re.MULTILINE)))
        for what in ("queries", "hits")
    )


def _address(users: Users, name: str) -> str:
    return str(users.replicas()[name]["address"])


def _rotate(users: Users, name: str, *, value: bool) -> None:
    body = {"value": value, "expectedVersion": None, "by": None}
    url = f"{users.url('platform')}/v1/replicas/{name}/rotation"
    assert wait_until(lambda: users.http.put(url, json=body).is_success, 10)
