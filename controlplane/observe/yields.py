"""What a service yields for what it takes: the indicators that are made of several measures.

Throughput, cache, memory, energy, cost, return, unsteadiness, scaling. Each follows the ways
of `indicators.yaml` in their order and is None where none of them can be gone. All over the
short window, but for volatility. It refuses to divide by nothing and to guess a price.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from controlplane.model.target import Target
from controlplane.observe.answers import ALL, BAD, GOOD

if TYPE_CHECKING:
    from controlplane.observe.measures import Measures

Value = Callable[["Measures", Target], float | None]

STEP, SPAN, LEAST_STEPS = 10.0, 300.0, 6
"""Of volatility: seconds of a step and of all steps, and fewer steps than this say nothing."""
HOUR = 3600.0
MILLION = 1e6


def _context_window(measures: Measures, target: Target) -> float | None:
    said = measures.gauge("context_length", target)
    bounds = [bound for bound in measures.store.parts("context_bound") if math.isfinite(bound)]
    return said if said is not None else max(bounds, default=None)


def _context_use(measures: Measures, target: Target) -> float | None:
    tokens = _plus(measures.increase("prompt_lengths", target), measures.increase("output_lengths", target))
    return _over(_over(tokens, measures.increase("lengths", target)), _context_window(measures, target))


def _ttft_mean_floor(measures: Measures, target: Target) -> float | None:
    return _plus(_queue_time(measures, target), _prefill_time(measures, target))


def _e2e_mean(measures: Measures, target: Target) -> float | None:
    ended = [measures.increase("finished", target, part) for part in (GOOD, BAD)]
    count = sum(each or 0.0 for each in ended)
    return _over(measures.increase("request_seconds", target), count)


def _sla_concurrency(measures: Measures, target: Target) -> float | None:
    running, in_time = measures.gauge("running", target), measures.in_time(target)
    return None if running is None or in_time is None else running * in_time


def _volatility(measures: Measures, target: Target) -> float | None:
    steps = int(min(SPAN, measures.store.covered(SPAN)) // STEP)
    row = measures.store.find(("generation_tokens", "all", target))
    if row is None or steps < LEAST_STEPS:
        return None
    windows = [STEP * step for step in range(1, steps + 1)]
    sums = measures.store.sums(np.array([row]), windows)[0]
    each = np.diff(sums, prepend=0.0)
    return _over(float(each.max() - each.min()), float(each.mean()))


def _gpu_memory_use(measures: Measures, target: Target) -> float | None:
    used, total = measures.gauge("gpu_memory_used", target), measures.gauge("gpu_memory_total", target)
    free = measures.gauge("gpu_memory_free", target)
    return _over(used, total if free is None else _plus(used, free))


def _kv_use(measures: Measures, target: Target) -> float | None:
    said = measures.gauge("kv_use", target)
    if said is not None:
        return said
    return _over(measures.gauge("kv_tokens_used", target), measures.gauge("kv_tokens", target))


def _memory_per_token(measures: Measures, target: Target) -> float | None:
    pool, whole = measures.gauge("kv_bytes", target), measures.gauge("gpu_memory_used", target)
    return _over(whole if pool is None else pool, _kv_capacity(measures, target))


def _prefill_throughput(measures: Measures, target: Target) -> float | None:
    """Of releases that do not tell where prompt tokens came from, take all that were not cached."""
    told, computed, found = (measures.rate("prefill_tokens", target, part) for part in (ALL, GOOD, BAD))
    if told:
        return told
    prompts, cached = measures.rate("prompt_tokens", target), measures.flow("cached_tokens", target)
    if prompts is None:
        return told if computed is None else computed
    computed, found = computed or 0.0, found or 0.0
    untold = max(0.0, prompts - computed - found)
    return computed + max(0.0, untold - max(0.0, (cached or 0.0) - found))


def _decode_throughput(measures: Measures, target: Target) -> float | None:
    return measures.rate("generation_tokens", target)


def _prefix_hits(measures: Measures, target: Target) -> float | None:
    hits, misses = (measures.increase("prefix", target, part) for part in (GOOD, BAD))
    if hits or misses:
        return _over(hits or 0.0, (hits or 0.0) + (misses or 0.0))
    cached = measures.flow("cached_tokens", target)
    if cached is not None:
        looked_up = measures.rate("looked_up", target)
        return _over(cached, measures.rate("prompt_tokens", target) if looked_up is None else looked_up)
    said = measures.gauge("prefix_hit_rate", target)
    return None if said is None or said < 0 else said


def _energy_per_token(measures: Measures, target: Target) -> float | None:
    return _over(_watts(measures, target), measures.rate("generation_tokens", target))


def _tokens_per_joule(measures: Measures, target: Target) -> float | None:
    return _over(measures.rate("generation_tokens", target), _watts(measures, target))


def _cost_per_million(measures: Measures, target: Target) -> float | None:
    """In the currency of the Service's economics."""
    return _over(_cost(measures, target), _over(_yield(measures, target), MILLION))


def _roi(measures: Measures, target: Target) -> float | None:
    economics, cost = measures.service.spec.economics, _cost(measures, target)
    tokens = _yield(measures, target)
    if economics is None or economics.token_price is None or cost is None or tokens is None:
        return None
    return _over(tokens / MILLION * economics.token_price - cost, cost)


def _scaling_efficiency(measures: Measures, target: Target) -> float | None:
    if not measures.gauge("queue", target):
        return None
    there = [
        place
        for place, up in measures.states.get("availability", {}).items()
        if up and target.contains(place)
    ]
    rates = [measures.rate("generation_tokens", place) or 0.0 for place in there]
    return _over(sum(rates), len(rates) * max(rates)) if len(rates) > 1 else None


def _queue_time(measures: Measures, target: Target) -> float | None:
    return _over(measures.increase("queue_seconds", target), measures.increase("queued", target))


def _prefill_time(measures: Measures, target: Target) -> float | None:
    return _over(measures.increase("prefill_seconds", target), measures.increase("prefills", target))


def _queue_share(measures: Measures, target: Target) -> float | None:
    queued = _queue_time(measures, target)
    return _over(queued, _plus(queued, _prefill_time(measures, target)))


def _preemption_rate(measures: Measures, target: Target) -> float | None:
    parts = [measures.increase("finished", target, part) for part in (ALL, GOOD, BAD)]
    ended = parts[0] if parts[0] is not None else sum(part or 0.0 for part in parts[1:])
    return _over(measures.increase("preemptions", target), ended)


def _prefill_share(measures: Measures, target: Target) -> float | None:
    prompts, answers = _prefill_throughput(measures, target), _decode_throughput(measures, target)
    return _over(prompts, _plus(prompts, answers))


def _replicas(measures: Measures, target: Target) -> float | None:
    found = [up for place, up in measures.states.get("availability", {}).items() if target.contains(place)]
    return float(sum(found)) if found else None


def _batch(measures: Measures, target: Target) -> float | None:
    return _over(measures.gauge("running", target), _replicas(measures, target))


def _kv_capacity(measures: Measures, target: Target) -> float | None:
    tokens = measures.gauge("kv_tokens", target)
    if tokens is not None:
        return tokens
    blocks, size = measures.gauge("kv_blocks", target), measures.gauge("kv_block_tokens", target)
    return None if blocks is None or size is None else blocks * size


def _node_conditions(measures: Measures, target: Target) -> float | None:
    """Return how many conditions but that of being ready hold, None where none is known."""
    found = [
        value
        for (name, place), value in measures.gauges.items()
        if name.startswith("node_conditions/") and not name.endswith("/Ready") and target.contains(place)
    ]
    return sum(found) if found else None


VALUES: Mapping[str, Value] = {
    "tokens_per_second": _decode_throughput,
    "context_window": _context_window,
    "context_use": _context_use,
    "ttft_mean_floor": _ttft_mean_floor,
    "e2e_mean": _e2e_mean,
    "sla_concurrency": _sla_concurrency,
    "volatility": _volatility,
    "gpu_memory_use": _gpu_memory_use,
    "kv_use": _kv_use,
    "memory_per_token": _memory_per_token,
    "prefill_throughput": _prefill_throughput,
    "decode_throughput": _decode_throughput,
    "prefix_hits": _prefix_hits,
    "energy_per_token": _energy_per_token,
    "tokens_per_joule": _tokens_per_joule,
    "cost_per_million": _cost_per_million,
    "roi": _roi,
    "scaling_efficiency": _scaling_efficiency,
    "queue_time": _queue_time,
    "prefill_time": _prefill_time,
    "queue_share": _queue_share,
    "preemption_rate": _preemption_rate,
    "prefill_share": _prefill_share,
    "replicas": _replicas,
    "batch": _batch,
    "kv_capacity": _kv_capacity,
    "node_conditions": _node_conditions,
}
"""Each by its name in the library."""


def _watts(measures: Measures, target: Target) -> float | None:
    """Return joules per second: counted, or as drawn at the last scrape."""
    counted = measures.rate("gpu_energy", target)
    return measures.gauge("gpu_power", target) if counted is None else counted


def _yield(measures: Measures, target: Target) -> float | None:
    """Return effective tokens per hour; all output tokens where clients do not count them."""
    effective = measures.rate("effective_tokens", target)
    per_second = measures.rate("generation_tokens", target) if effective is None else effective
    return None if per_second is None else per_second * HOUR


def _cost(measures: Measures, target: Target) -> float | None:
    """Return the cost of an hour: of the GPUs that there should be, and of their power where it is extra."""
    economics = measures.service.spec.economics
    replicas = [place for place in measures.states.get("availability", {}) if target.contains(place)]
    if economics is None or not replicas:
        return None
    each = {zone.name: zone.gpus_per_replica for zone in measures.service.spec.zones}
    cost = sum(each.get(place.zone or "", 1) for place in replicas) * economics.gpu_hour
    if not economics.power_price:
        return cost
    watts = _watts(measures, target)
    return None if watts is None else cost + watts / 1000 * economics.pue * economics.power_price


def _plus(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right


def _over(part: float | None, whole: float | None) -> float | None:
    return None if part is None or whole is None or whole <= 0 else part / whole
