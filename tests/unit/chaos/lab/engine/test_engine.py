"""The engine keeps vLLM's promises: order, budgets, blocks, and every request's end."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.lab.engine.engine import Engine
from chaos.lab.engine.request import FinishReason, Request
from chaos.lab.engine.step import StepReport
from chaos.lab.settings import EngineSettings
from controlplane.kernel.errors import InvalidInput

SMALL = EngineSettings(
    max_num_seqs=3, max_num_batched_tokens=8, max_model_len=32, block_size=4, num_gpu_blocks=10
)
STEADY = EngineSettings(step_jitter=0)


def request(name: str, prompt: int, answer: int, *, family: str = "") -> Request:
    words = [f"{family or name}-{index}" for index in range(prompt)]
    return Request(name, words, [f"{name}+{index}" for index in range(answer)], FinishReason.LENGTH, 0.0)


@dataclass
class Run:
    """An engine driven under a virtual clock, with everything it reported."""

    settings: EngineSettings
    now: float = 0.0
    reports: list[StepReport] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = Engine(self.settings, random.Random(7))

    def add(self, *requests: Request) -> None:
        for item in requests:
            item.arrived_at = self.now
            self.engine.add(item, self.now)

    def step(self) -> StepReport | None:
        ends_at = self.engine.begin(self.now)
        self.now = self.now if ends_at is None else ends_at
        report = self.engine.complete(self.now)
        if report is not None:
            self.reports.append(report)
        return report

    def drain(self, limit: int = 5000) -> None:
        for _ in range(limit):
            if self.step() is None:
                return
        pytest.fail(f"still busy after {limit} steps")


requests_of_all_sizes = st.lists(
    st.tuples(st.integers(1, 20), st.integers(1, 12), st.sampled_from(["", "shared"])), min_size=1, max_size=8
)


def build(sizes: Sequence[tuple[int, int, str]]) -> list[Request]:
    return [
        request(f"r{index}", prompt, answer, family=family)
        for index, (prompt, answer, family) in enumerate(sizes)
    ]


@given(requests_of_all_sizes)
def test_every_request_ends_with_all_its_tokens_and_all_blocks_come_back(
    sizes: list[tuple[int, int, str]],
) -> None:
    run, requests = Run(SMALL), build(sizes)
    run.add(*requests)
    run.drain()
    outputs = [item for report in run.reports for item in report.outputs]
    assert [outputs.count(item) for item in requests] == [len(item.answer) for item in requests]
    assert [item.finish_reason for item in requests] == [FinishReason.LENGTH] * len(requests)
    assert run.engine.tokens == sum(len(item.answer) for item in requests)
    assert (run.engine.used_blocks, run.engine.running, run.engine.waiting) == (0, 0, 0)


@given(requests_of_all_sizes)
def test_limits_hold_in_every_step(sizes: list[tuple[int, int, str]]) -> None:
    run = Run(SMALL)
    run.add(*build(sizes))
    while run.engine.has_work:
        ends_at = run.engine.begin(run.now)
        batch = run.engine._batch
        assert batch is not None
        assert ends_at is not None
        assert sum(tokens for _, tokens in batch.work) <= SMALL.max_num_batched_tokens
        assert run.engine.running <= SMALL.max_num_seqs
        assert 0 <= run.engine.used_blocks <= SMALL.num_gpu_blocks
        run.now = ends_at
        run.engine.complete(run.now)


@given(requests_of_all_sizes)
def test_requests_are_admitted_in_order_of_arrival(sizes: list[tuple[int, int, str]]) -> None:
    run, requests = Run(SMALL), build(sizes)
    run.add(*requests)
    run.drain()
    admitted = [item.scheduled_at for item in requests]
    assert admitted == sorted(admitted, key=lambda at: at or 0.0)
    assert all(
        item.arrived_at <= (item.scheduled_at or 0) < (item.first_token_at or 0) <= (item.last_token_at or 0)
        for item in requests
    )


@given(requests_of_all_sizes, st.floats(1.5, 5))
def test_a_slow_factor_makes_every_step_that_much_longer(
    sizes: list[tuple[int, int, str]], factor: float
) -> None:
    healthy, slow = Run(SMALL), Run(SMALL)
    slow.engine.slow_factor = factor
    for run in (healthy, slow):
        run.add(*build(sizes))
        run.drain()
    assert len(slow.reports) == len(healthy.reports)
    assert slow.now == pytest.approx(healthy.now * factor)


@given(requests_of_all_sizes, st.integers(0, 20), st.booleans())
def test_a_hang_makes_no_progress_and_loses_nothing(
    sizes: list[tuple[int, int, str]], steps_before: int, in_flight: bool
) -> None:
    run, requests = Run(SMALL), build(sizes)
    run.add(*requests)
    for _ in range(steps_before):
        run.step()
    if in_flight:
        run.engine.begin(run.now)
    run.engine.hang(run.now)
    run.add(late := request("late", 3, 3))
    frozen = (run.engine.steps, run.engine.tokens, run.engine.running)
    run.now += 60
    assert (run.engine.begin(run.now), run.engine.complete(run.now)) == (None, None)
    assert (run.engine.steps, run.engine.tokens, run.engine.running) == frozen
    run.engine.resume(run.now)
    run.engine.complete(run.now)
    run.drain()
    assert {item.finish_reason for item in (*requests, late)} == {FinishReason.LENGTH}
    assert run.engine.tokens == sum(len(item.answer) for item in (*requests, late))


@given(requests_of_all_sizes, st.data())
def test_an_aborted_request_gives_back_its_slot_and_blocks(
    sizes: list[tuple[int, int, str]], data: st.DataObject
) -> None:
    run, requests = Run(SMALL), build(sizes)
    run.add(*requests)
    for _ in range(data.draw(st.integers(0, 15))):
        run.step()
    chosen = data.draw(st.sets(st.sampled_from(requests)))
    unfinished = [item for item in chosen if item.finish_reason is None]
    before = {item.id: item.emitted for item in unfinished}
    if data.draw(st.booleans()):
        run.engine.begin(run.now)
    for item in chosen:
        run.engine.abort(item)
        run.engine.abort(item)
    run.engine.complete(run.now)
    run.drain()
    assert {item.id: item.emitted for item in unfinished} == before
    assert sorted(item.id for report in run.reports for item in report.aborted) == sorted(before)
    assert {item.finish_reason for item in unfinished} <= {FinishReason.ABORT}
    assert (run.engine.used_blocks, run.engine.running, run.engine.waiting) == (0, 0, 0)


def test_running_out_of_blocks_preempts_the_youngest_which_still_ends() -> None:
    run = Run(SMALL)
    old, young = request("old", 16, 12), request("young", 16, 12)
    run.add(old, young)
    run.drain()
    assert (old.preemptions, young.preemptions > 0) == (0, True)
    assert sum(report.preemptions for report in run.reports) == young.preemptions
    assert (old.emitted, young.emitted) == (12, 12)


def test_a_prompt_that_begins_like_an_earlier_one_is_partly_cached() -> None:
    run = Run(SMALL)
    first, second = request("a", 9, 1, family="same"), request("b", 9, 1, family="same")
    run.add(first)
    run.drain()
    run.add(second)
    run.drain()
    assert (first.cached, second.cached) == (0, 8)
    assert sum(report.prefix_queries for report in run.reports) == 18
    assert sum(report.prefix_hits for report in run.reports) == 8


def test_the_last_prompt_token_is_computed_even_when_all_is_cached() -> None:
    run = Run(SMALL)
    for name in ("a", "b"):
        run.add(request(name, 8, 1, family="same"))
        run.drain()
    assert sum(report.prefix_hits for report in run.reports) == 4


def test_an_answer_is_cached_for_the_next_turn_of_a_conversation() -> None:
    run = Run(SMALL)
    run.add(first := request("a", 4, 5))
    run.drain()
    follow_up = Request("b", [*first.prompt, *first.answer, "more"], ["x"], FinishReason.STOP, run.now)
    run.add(follow_up)
    run.drain()
    assert follow_up.cached == 8


def test_a_long_prompt_is_computed_in_chunks_while_others_decode() -> None:
    run = Run(SMALL)
    run.add(short := request("short", 1, 10))
    run.step()
    run.add(long := request("long", 18, 2))
    tokens = [len((run.step() or StepReport()).outputs) for _ in range(3)]
    assert (tokens, short.emitted, long.emitted) == ([1, 1, 2], 4, 1)


def mean_step(running: int) -> float:
    """Seconds of a decoding step with ``running`` sequences."""
    run = Run(STEADY)
    run.add(*(request(f"r{index}", 60, 100) for index in range(running)))
    run.step()
    before = run.now
    for _ in range(50):
        run.step()
    return (run.now - before) / 50


def test_a_steady_step_takes_about_22_milliseconds_and_a_full_batch_keeps_the_objective() -> None:
    assert (mean_step(2) + mean_step(3)) / 2 == pytest.approx(0.022, abs=0.0005)
    assert mean_step(STEADY.max_num_seqs) < 0.040


def test_the_lab_traffic_is_about_half_of_what_all_replicas_can_do() -> None:
    rate, rng, run = 12.5 / 12, random.Random(3), Run(EngineSettings())
    run.add(*(request(f"r{number}", rng.randint(100, 500), rng.randint(20, 180)) for number in range(400)))
    while run.engine.waiting:  # never short of work until the queue is empty
        run.step()
    most = run.engine.tokens / run.now
    canaries = 8 / 2
    assert (rate * 100 + canaries) / most == pytest.approx(0.55, abs=0.05)


def test_busy_time_counts_steps_and_stalled_time_counts_hanging_with_work() -> None:
    run = Run(STEADY)
    run.engine.hang(0.0)
    assert run.engine.stalled(5.0) == 0.0
    run.now = 10.0
    run.add(request("a", 1, 1))
    assert (run.engine.busy(14.0), run.engine.stalled(14.0)) == (0.0, 4.0)
    run.engine.resume(14.0)
    run.now = 14.0
    run.drain()
    assert run.engine.busy(99.0) == pytest.approx(run.now - 14.0)
    assert run.engine.stalled(99.0) == 4.0


def test_a_queue_aborted_during_a_hang_is_reported_by_a_step_that_takes_no_time() -> None:
    run = Run(STEADY)
    run.engine.hang(0.0)
    run.add(gone := request("a", 1, 1))
    run.engine.abort(gone)
    run.engine.resume(1.0)
    run.now = 1.0
    report = run.step()
    assert report is not None
    assert (run.now, report.aborted, report.waiting) == (1.0, [gone], 0)


@pytest.mark.parametrize(("prompt", "answer"), [(0, 1), (1, 0), (30, 3)])
def test_what_can_never_end_is_refused(prompt: int, answer: int) -> None:
    with pytest.raises(InvalidInput):
        Engine(SMALL, random.Random(1)).add(request("bad", prompt, answer), 0.0)


def test_settings_that_cannot_hold_one_request_are_refused() -> None:
    with pytest.raises(ValueError, match="could never end"):
        EngineSettings(num_gpu_blocks=10)
