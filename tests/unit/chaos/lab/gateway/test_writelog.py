"""The write log: one line per effect, fences and keys that outlive the process."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.lab.gateway.writelog import WEIGHTS, FencedWrite, WriteLog
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Conflict
from controlplane.model.topology import WriteRecord, WriteTag

SERVICE = "chat/local"


def tag(fence: int = 1, key: str = "k1", run: str = "run-1") -> WriteTag:
    return WriteTag(run=run, step="shift", attempt=1, fence=fence, key=key)


def opened(folder: Path) -> WriteLog:
    return WriteLog(folder, VirtualClock())


def write(log: WriteLog, by: WriteTag | None, version: str = "2") -> WriteRecord:
    record = log.draft(WEIGHTS, SERVICE, before={"zone-a": 100}, after={"zone-a": 50}, version=version, by=by)
    log.append(record)
    return record


def test_a_new_log_knows_nothing(tmp_path: Path) -> None:
    log = opened(tmp_path)

    assert log.after(0) == []
    assert log.last(WEIGHTS) is None
    assert log.pending() is None


def test_an_effect_is_one_line_and_reads_back_the_same(tmp_path: Path) -> None:
    record = write(opened(tmp_path), tag())

    assert len((tmp_path / "writes.jsonl").read_text().splitlines()) == 1
    assert opened(tmp_path).after(0) == [record]


def test_sequence_numbers_go_on_after_a_restart(tmp_path: Path) -> None:
    write(opened(tmp_path), tag(key="k1"))
    write(opened(tmp_path), tag(key="k2"))

    assert [record.seq for record in opened(tmp_path).after(0)] == [1, 2]
    assert [record.seq for record in opened(tmp_path).after(1)] == [2]


def test_a_lower_fence_is_refused_with_the_highest_even_after_a_restart(tmp_path: Path) -> None:
    write(opened(tmp_path), tag(fence=5))

    with pytest.raises(FencedWrite) as caught:
        opened(tmp_path).admit(WEIGHTS, SERVICE, tag(fence=4, key="k2"))
    assert caught.value.highest == 5


def test_a_fence_whose_write_was_refused_keeps_a_lower_one_out_after_a_restart(tmp_path: Path) -> None:
    opened(tmp_path).admit(WEIGHTS, SERVICE, tag(fence=5))

    with pytest.raises(FencedWrite):
        opened(tmp_path).admit(WEIGHTS, SERVICE, tag(fence=4, key="k2"))
    assert opened(tmp_path).after(0) == []


def test_a_fence_is_written_down_once_and_a_torn_line_is_none(tmp_path: Path) -> None:
    log, path = opened(tmp_path), tmp_path / "fences.jsonl"
    for fence in (3, 3, 5, 5):
        log.see(tag(fence=fence))
    assert path.read_text().splitlines() == ['["run-1", 3]', '["run-1", 5]']

    path.write_text(path.read_text() + '["run-1", 9')
    opened(tmp_path).see(tag(fence=6))
    with pytest.raises(FencedWrite) as caught:
        opened(tmp_path).see(tag(fence=5))
    assert caught.value.highest == 6


def test_fences_are_counted_per_run(tmp_path: Path) -> None:
    write(opened(tmp_path), tag(fence=5, run="run-1"))

    assert opened(tmp_path).admit(WEIGHTS, SERVICE, tag(fence=1, key="k2", run="run-2")) is None


def test_a_known_key_gets_its_record_even_after_a_restart(tmp_path: Path) -> None:
    record = write(opened(tmp_path), tag())

    assert opened(tmp_path).admit(WEIGHTS, SERVICE, tag()) == record


def test_a_key_used_for_something_else_is_a_conflict(tmp_path: Path) -> None:
    write(opened(tmp_path), tag())

    with pytest.raises(Conflict, match="was used for weights"):
        opened(tmp_path).admit("restart", "chat/local/zone-a/node-a1/replica-a1-0", tag())


def test_writes_without_a_writer_are_always_admitted(tmp_path: Path) -> None:
    write(opened(tmp_path), None)

    assert opened(tmp_path).admit(WEIGHTS, SERVICE, None) is None


def test_an_intent_without_its_line_is_found_after_a_crash(tmp_path: Path) -> None:
    intent = opened(tmp_path).draft(WEIGHTS, SERVICE, before={}, after={"zone-a": 1}, version="2", by=tag())

    assert opened(tmp_path).pending() == intent


def test_an_intent_whose_line_was_written_is_forgotten(tmp_path: Path) -> None:
    log = opened(tmp_path)
    record = log.draft(WEIGHTS, SERVICE, before={}, after={"zone-a": 1}, version="2", by=tag())
    intent = (tmp_path / "intent.json").read_text()
    log.append(record)
    (tmp_path / "intent.json").write_text(intent)

    assert opened(tmp_path).pending() is None
    assert not (tmp_path / "intent.json").exists()


@settings(max_examples=20)
@given(cut=st.integers(min_value=1))
def test_a_torn_last_line_is_no_effect_and_does_not_spoil_the_next(
    tmp_path_factory: object, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("log")  # type: ignore[attr-defined]
    write(opened(folder), tag(key="k1"))
    path = folder / "writes.jsonl"
    whole = path.read_text()
    path.write_text(whole + whole[: cut % (len(whole) - 1)])

    write(opened(folder), tag(key="k2"))

    assert [record.seq for record in opened(folder).after(0)] == [1, 2]
