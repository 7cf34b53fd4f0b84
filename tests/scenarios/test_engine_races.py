"""Many workers at once, in threads on one file: each run is executed by one, and each effect happens once."""

import threading
from pathlib import Path

import pytest

from controlplane.model.states import RunState
from tests.support.rig import Rig
from tests.support.scripted import Scripted, step


@pytest.mark.timeout(60)
def test_workers_that_race_for_the_same_runs_double_nothing(tmp_path: Path) -> None:
    action = Scripted("first")
    rig = Rig(tmp_path, action)
    runs = [rig.start(step("first"), {**step("first"), "id": "second"}) for _ in range(6)]
    barrier = threading.Barrier(4)
    errors: list[BaseException] = []

    def work() -> None:
        worker = rig.new_executor()
        barrier.wait()
        try:
            for run in runs:
                worker.advance(run.id)
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {rig.run(run).state for run in runs} == {RunState.SUCCEEDED}
    assert len(action.calls) == 12
    assert {rig.run(run).fence for run in runs} == {1}


@pytest.mark.timeout(60)
def test_a_shift_that_two_workers_race_for_is_one_effect(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = rig.start(
        {"id": "shift", "uses": "traffic.shift", "with": {"zone": "zone-a", "weight": 0, "over": "2s"}}
    )
    while rig.run(run).state != RunState.SUCCEEDED:
        threads = [threading.Thread(target=rig.new_executor().advance, args=(run.id,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rig.clock.advance(0.5)
    weights = [write.after["zone-a"] for write in rig.platform.writes()]
    assert weights == sorted(set(weights), reverse=True)
    assert weights[-1] == 0
