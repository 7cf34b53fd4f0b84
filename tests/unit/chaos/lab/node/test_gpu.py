"""A card's readings follow from its engine's work; the DCGM text has the exporter's form."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.lab.engine.engine import Engine
from chaos.lab.engine.request import FinishReason, Request
from chaos.lab.node import dcgm
from chaos.lab.node.gpu import Gpu, Memory
from chaos.lab.settings import EngineSettings

STEADY = EngineSettings(step_jitter=0)


def engine_with_work(prompt: int = 16, answer: int = 200) -> Engine:
    engine = Engine(STEADY, random.Random(1))
    engine.add(Request("a", ["w"] * prompt, ["x"] * answer, FinishReason.LENGTH, 0.0), 0.0)
    return engine


def run_until(engine: Engine, now: float, end: float) -> float:
    while now < end and (ends_at := engine.begin(now)) is not None:
        now = ends_at
        engine.complete(now)
    return now


def test_a_busy_card_is_used_hot_and_hungry() -> None:
    gpu, engine = Gpu("GPU-1", 0, 0.0), engine_with_work(answer=5000)
    gpu.attach(engine, 0.0)
    idle = gpu.read(0.0)
    busy = gpu.read(run_until(engine, 0.0, 60.0))
    assert (idle.utilisation, busy.utilisation) == (0, 100)
    assert idle.power_watts < 100
    assert 300 < busy.power_watts < 700
    assert busy.temperature > idle.temperature
    assert idle.sm_clock == 345
    assert 1800 <= busy.sm_clock < 1980
    assert busy.memory_active > busy.tensor_active


def test_prefill_shows_on_the_tensor_cores() -> None:
    def tensor(prompt: int) -> float:
        gpu, engine = Gpu("GPU-1", 0, 0.0), engine_with_work(prompt, 30)
        gpu.attach(engine, 0.0)
        run_until(engine, 0.0, 9.0)
        return gpu.read(2.0).tensor_active

    assert tensor(8000) > 3 * tensor(16)


def test_a_card_that_hangs_with_work_stays_at_full_use_and_low_power() -> None:
    gpu, engine = Gpu("GPU-1", 0, 0.0), engine_with_work()
    gpu.attach(engine, 0.0)
    now = run_until(engine, 0.0, 1.0)
    engine.begin(now)
    engine.hang(now)
    gpu.read(now + 1)
    hung = gpu.read(now + 31)
    assert hung.utilisation == 100
    assert hung.power_watts == pytest.approx(130)
    assert hung.memory_active == pytest.approx(0.0, abs=0.01)


def test_energy_is_power_times_time_however_often_it_is_read() -> None:
    def energy(reads: int) -> int:
        gpu, engine = Gpu("GPU-1", 0, 0.0), engine_with_work()
        gpu.attach(engine, 0.0)
        end = run_until(engine, 0.0, 100.0)
        for index in range(reads):
            gpu.read(end + index)
        return gpu.read(end + 100).energy_mj

    assert energy(0) == energy(50)


@given(
    st.lists(st.tuples(st.sampled_from(["work", "idle", "restart", "hang"]), st.floats(0.6, 5)), max_size=12)
)
def test_the_energy_counter_never_falls_also_across_restarts(events: list[tuple[str, float]]) -> None:
    gpu, now, last = Gpu("GPU-1", 0, 0.0), 0.0, 0
    engine = engine_with_work()
    gpu.attach(engine, now)
    for kind, seconds in events:
        if kind == "restart":
            engine = engine_with_work()
            gpu.attach(engine, now)
        elif kind == "hang":
            engine.hang(now)
        elif kind == "work":
            run_until(engine, now, now + seconds)
        now += seconds
        reading = gpu.read(now)
        assert reading.energy_mj >= last + int(85 * 1000 * seconds) - 1
        assert 0 <= reading.utilisation <= 100
        last = reading.energy_mj


def test_a_reset_card_begins_its_counters_anew_and_is_empty() -> None:
    gpu, engine = Gpu("GPU-1", 0, 0.0), engine_with_work(answer=5000)
    gpu.attach(engine, 0.0)
    gpu.memory = Memory.SERVING
    end = run_until(engine, 0.0, 60.0)
    assert gpu.read(end).energy_mj > 60_000 * 100

    gpu.reset(end)
    after = gpu.read(end + 1.0)

    assert after.energy_mj == pytest.approx(85_000, rel=0.01)
    assert (after.utilisation, after.memory_used) == (0, Memory.EMPTY.value)


@pytest.mark.parametrize(("code", "spoiler"), [(95, None), (46, None), (79, "fault-1")])
def test_a_reset_mends_what_is_recoverable_and_not_a_card_that_is_gone(
    code: int, spoiler: str | None
) -> None:
    gpu = Gpu("GPU-1", 0, 0.0)
    gpu.health.strike("fault-1", code, "replica-1")
    assert gpu.health.spoiler() == "fault-1"

    gpu.reset(1.0)

    assert gpu.health.spoiler() == spoiler


def test_readings_within_half_a_second_are_one() -> None:
    gpu = Gpu("GPU-1", 0, 0.0)
    assert gpu.read(10.0) is gpu.read(10.4)
    assert gpu.read(10.4) is not gpu.read(10.6)


def test_memory_is_a_plateau_and_adds_up() -> None:
    gpu = Gpu("GPU-1", 0, 0.0)
    gpu.memory = Memory.SERVING
    reading = gpu.read(1.0)
    assert reading.memory_used == Memory.SERVING.value
    assert reading.memory_used + reading.memory_free + reading.memory_reserved == 81559


@pytest.fixture
def text() -> list[str]:
    cards = [dcgm.Assignment(Gpu(f"GPU-{index}", index, 0.0), f"replica-a1-{index}") for index in (1, 0)]
    return dcgm.exposition("node-a1", cards, 10.0).decode().splitlines()


def test_labels_have_the_exporters_order(text: list[str]) -> None:
    assert next(line for line in text if line.startswith("DCGM_FI_DEV_POWER_USAGE")) == (
        'DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-0",pci_bus_id="00000000:1B:00.0",device="nvidia0",'
        'modelName="NVIDIA H100 80GB HBM3",Hostname="node-a1",DCGM_FI_DRIVER_VERSION="550.90.07",'
        'container="vllm",namespace="llm",pod="replica-a1-0"} 85.000000'
    )


def test_the_xid_gauge_is_latched_at_zero_with_its_meaning(text: list[str]) -> None:
    series = [line for line in text if line.startswith("DCGM_FI_DEV_XID_ERRORS")]
    assert [line.rsplit(" ", 1)[1] for line in series] == ["0", "0"]
    assert all('container="vllm",err_code="0",err_msg="No Error",namespace=' in line for line in series)


def test_every_default_field_is_there_once_per_card(text: list[str]) -> None:
    names = [re.split("[{ ]", line)[0] for line in text if not line.startswith("#")]
    assert {name: names.count(name) for name in names} == {f"DCGM_FI_{field[0]}": 2 for field in dcgm.FIELDS}
    assert len(dcgm.FIELDS) == 20
