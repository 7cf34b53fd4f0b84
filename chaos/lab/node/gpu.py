"""A GPU as the driver sees it: what an engine's work does to power, heat, clocks and memory.

Energy is a closed form of what the engine has done so far (seconds in steps, seconds stuck
in one, prompt tokens computed), so the counter is exact however seldom it is read; power
and the activity ratios are its increments between two readings, as DCGM samples them. The
card outlives the engine on it: a restarted replica finds the energy counter where it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from chaos.lab.engine.engine import Engine
from chaos.lab.node.xid import Health

MODEL_NAME = "NVIDIA H100 80GB HBM3"

_IDLE_WATTS = 85.0
_LIMIT_WATTS = 700.0  # the board power limit of an H100 SXM
_STEP_WATTS = 290.0  # above idle while a step runs: decode is bound by memory, not by arithmetic
_STALL_WATTS = 45.0  # above idle while kernels spin without progress: low and flat
_PREFILL_JOULES = 0.02  # per prompt token on top: the tensor cores' part
_PREFILL_TOKENS_PER_SECOND = 33_000.0
_MEMORY_MIB = 81_559
_RESERVED_MIB = 518
_WEIGHTS_MIB = 15_317
_POOL_MIB = 73_935  # weights and the preallocated KV pool: the plateau under vLLM
_AMBIENT, _KELVIN_PER_WATT, _WARM_UP = 27.0, 0.065, 25.0  # degrees C, K/W, seconds
_SM_CLOCK, _SM_CLOCK_IDLE, _MEMORY_CLOCK = 1980, 345, 2619  # MHz
_CLOCK_STEP, _STEPS_DOWN = 15, 12  # MHz, and how many steps the boost gives up between idle and full power
_SHORTEST_WINDOW = 0.5  # seconds between readings below which the last one is repeated


def _sm_clock(active: float, watts: float) -> int:
    """Return the SM clock in MHz: the boost steps down as power nears the limit, and rests when idle."""
    if active <= 0.0:
        return _SM_CLOCK_IDLE
    share = (watts - _IDLE_WATTS) / (_LIMIT_WATTS - _IDLE_WATTS)
    return _SM_CLOCK - _CLOCK_STEP * round(_STEPS_DOWN * min(1.0, max(0.0, share)))


class Memory(Enum):
    """What of a model is on the card, MiB."""

    EMPTY = 4
    WEIGHTS = _WEIGHTS_MIB
    SERVING = _POOL_MIB


@dataclass(frozen=True, slots=True)
class Reading:
    """One sample of the card. Ratios are 0..1, utilisations per cent, memory MiB, energy mJ since start."""

    utilisation: int
    memory_utilisation: int
    engine_active: float
    tensor_active: float
    memory_active: float
    power_watts: float
    energy_mj: int
    temperature: int
    memory_temperature: int
    sm_clock: int
    memory_clock: int
    memory_used: int
    memory_free: int
    memory_reserved: int


@dataclass(frozen=True, slots=True)
class _Work:
    at: float
    busy: float = 0.0
    stalled: float = 0.0
    prefilled: float = 0.0

    def joules(self, since: float) -> float:
        return (
            _IDLE_WATTS * (self.at - since)
            + _STEP_WATTS * self.busy
            + _STALL_WATTS * self.stalled
            + _PREFILL_JOULES * self.prefilled
        )


class Gpu:
    """One card. ``now`` is seconds of the engine's clock throughout."""

    def __init__(self, uuid: str, index: int, now: float) -> None:
        self.uuid = uuid
        self.index = index
        self.bus_id = f"0000:{0x1B + 0x20 * index:02X}:00"
        self.health = Health()
        self.memory = Memory.EMPTY
        self._since = now
        self._engine: Engine | None = None
        self._past = _Work(now)
        self._last = _Work(now)
        self._degrees = _AMBIENT + _KELVIN_PER_WATT * _IDLE_WATTS
        self._reading = self._read(_Work(now), 0.0)

    def attach(self, engine: Engine | None, now: float) -> None:
        """Put another engine (or none) on the card; what the former one did is kept."""
        self._past = self._work(now)
        self._engine = engine

    def reset(self, now: float) -> None:
        """Reset the card, as ``nvidia-smi --gpu-reset`` does: its counters begin anew, its heat stays."""
        self.health.reset()
        self.memory = Memory.EMPTY
        self._engine = None
        self._since = now
        self._past = self._last = _Work(now)

    def read(self, now: float) -> Reading:
        """Return the sample since the last reading; readings within half a second are one."""
        work = self._work(now)
        if work.at - self._last.at >= _SHORTEST_WINDOW:
            self._reading = self._read(work, work.at - self._last.at)
            self._last = work
        return self._reading

    def _work(self, now: float) -> _Work:
        past, engine = self._past, self._engine
        if engine is None:
            return _Work(now, past.busy, past.stalled, past.prefilled)
        return _Work(
            now,
            past.busy + engine.busy(now),
            past.stalled + engine.stalled(now),
            past.prefilled + engine.prefilled,
        )

    def _read(self, work: _Work, seconds: float) -> Reading:
        last = self._last
        span = seconds or 1.0
        stepping = min(1.0, (work.busy - last.busy) / span)
        active = min(1.0, stepping + (work.stalled - last.stalled) / span)
        prefill = min(1.0, (work.prefilled - last.prefilled) / span / _PREFILL_TOKENS_PER_SECOND)
        joules = work.joules(self._since)
        watts = (joules - last.joules(self._since)) / seconds if seconds else _IDLE_WATTS
        target = _AMBIENT + _KELVIN_PER_WATT * watts
        self._degrees += (target - self._degrees) * (1.0 - math.exp(-seconds / _WARM_UP))
        memory_active = 0.62 * stepping
        return Reading(
            utilisation=round(100 * active),
            memory_utilisation=round(100 * memory_active),
            engine_active=active,
            tensor_active=min(1.0, 0.04 * stepping + 0.9 * prefill),
            memory_active=memory_active,
            power_watts=watts,
            energy_mj=int(joules * 1000),
            temperature=round(self._degrees),
            memory_temperature=round(self._degrees + 9.0),
            sm_clock=_sm_clock(active, watts),
            memory_clock=_MEMORY_CLOCK,
            memory_used=self.memory.value,
            memory_free=_MEMORY_MIB - _RESERVED_MIB - self.memory.value,
            memory_reserved=_RESERVED_MIB,
        )
