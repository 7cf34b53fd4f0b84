"""`traffic.shift`: ramps, foreign changes, crashes, lost answers, undo."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.actions.traffic_shift import ShiftParameters, TrafficShift, stage_count, weight_at
from controlplane.kernel.errors import NotFound, Unavailable
from controlplane.model.action import Dimension, UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind
from controlplane.model.topology import Weights
from tests.support.steps import StepDriver


def shift(weight: int = 0, over: str = "0", **more: object) -> StepDriver:
    return StepDriver(TrafficShift(), zone="zone-a", weight=weight, over=over, **more)


class TestRamp:
    def test_without_a_ramp_the_weight_is_changed_by_one_write(self) -> None:
        step = shift()

        outcome = step.run()

        assert outcome == Done({"weight": 0, "before": 100, "version": step.platform.weights("chat").version})
        assert step.written() == [0]
        assert step.clock.monotonic() == 0

    def test_a_ramp_of_five_seconds_moves_at_once_then_each_second_and_ends_in_time(self) -> None:
        step = shift(over="5s")

        assert isinstance(step.run(), Done)

        assert step.written() == [83, 66, 50, 33, 17, 0]
        times = [record.at for record in step.platform.writes()]
        assert [(at - times[0]).total_seconds() for at in times] == pytest.approx([0, 1, 2, 3, 4, 5])

    def test_a_late_worker_catches_up_instead_of_stretching_the_ramp(self) -> None:
        step = shift(over="5s")
        step.call()
        step.call()
        step.clock.advance(3)

        waits = [outcome.after for outcome in (step.call(), step.call()) if isinstance(outcome, Again)]

        assert waits == [0.0, 0.0]

    def test_a_long_ramp_still_moves_ten_points_at_once(self) -> None:
        step = shift(over="10m")
        step.call()
        step.call()

        assert step.weight() == 90

    def test_the_number_of_stages_can_be_chosen(self) -> None:
        step = shift(over="30s", steps=3)
        step.run()

        assert step.written() == [66, 33, 0]
        assert step.clock.monotonic() == pytest.approx(30)

    def test_a_weight_can_be_raised_too(self) -> None:
        step = shift(weight=100, over="2s")
        step.set_weight(40)

        assert isinstance(step.run(), Done)
        assert step.written() == [60, 80, 100]

    def test_a_weight_that_stands_already_is_not_written(self) -> None:
        step = shift(weight=100)

        assert step.run() == Done({"weight": 100, "before": 100, "version": "1"})
        assert step.platform.writes() == []

    @given(before=st.integers(0, 100), after=st.integers(0, 100), over=st.integers(0, 5000))
    def test_stages_rise_or_fall_strictly_from_before_to_after(
        self, before: int, after: int, over: int
    ) -> None:
        parameters = ShiftParameters.model_construct(zone="z", weight=after, over=float(over), steps=None)
        count = stage_count(before, parameters)
        stages = [weight_at(stage, count, before, after) for stage in range(count + 1)]

        assert (stages[0], stages[-1]) == (before, after)
        assert 1 <= count <= 60
        moves = [(low - high) * (1 if before > after else -1) for low, high in itertools.pairwise(stages)]
        assert before == after or all(move > 0 for move in moves)
        assert all(0 <= stage <= 100 for stage in stages)
        assert before == after or moves[0] >= min(10, abs(after - before))


class TestOthers:
    def test_a_persons_change_of_the_zone_is_respected_and_reported(self) -> None:
        step = shift(over="5s")
        step.call()
        step.call()
        step.set_weight(40)

        outcome = step.run()

        assert isinstance(outcome, Failed)
        assert outcome.kind is FailureKind.PERMANENT
        assert outcome.message == (
            "zone-a is at weight 40, not at 83: somebody else has set it, and it is left alone"
        )
        assert outcome.outputs["found"] == 40
        assert step.weight() == 40

    def test_a_change_of_another_zone_does_not_stop_the_ramp(self) -> None:
        step = shift(over="5s")
        step.call()
        step.call()
        step.set_weight(50, "zone-b")

        assert isinstance(step.run(), Done)
        assert step.platform.weights("chat").weights == {"zone-a": 0, "zone-b": 50, "zone-c": 100}

    def test_a_change_of_another_zone_between_look_and_write_is_written_over_nothing(self) -> None:
        step = shift()
        step.call()
        meddle(step, lambda: step.set_weight(50, "zone-b"))

        assert isinstance(step.run(), Done)
        assert step.platform.weights("chat").weights == {"zone-a": 0, "zone-b": 50, "zone-c": 100}
        assert step.written() == [0]

    def test_a_change_of_the_zone_between_look_and_write_is_respected(self) -> None:
        step = shift()
        step.call()
        meddle(step, lambda: step.set_weight(40))

        outcome = step.run()

        assert isinstance(outcome, Failed)
        assert outcome.outputs["found"] == 40
        assert step.written() == []

    def test_the_last_zone_with_weight_is_not_taken_away(self) -> None:
        step = shift(over="5s")
        step.set_weight(0, "zone-b")
        step.set_weight(0, "zone-c")

        outcome = step.run()

        assert isinstance(outcome, Failed)
        assert "nobody would serve" in outcome.message
        assert step.written() == []

    def test_a_zone_that_is_not_there_is_named_with_those_that_are(self) -> None:
        step = StepDriver(TrafficShift(), zone="zone-x", weight=0)

        with pytest.raises(NotFound, match="zones: zone-a, zone-b, zone-c"):
            step.call()


def meddle(step: StepDriver, change: Callable[[], None]) -> None:
    """Let somebody write right after the next read of the weights, once."""
    read = step.platform.weights
    left = [change]

    def weights(service: str) -> Weights:
        seen = read(service)
        if left:
            left.pop()()
        return seen

    step.platform.weights = weights  # type: ignore[method-assign]


class TestTrouble:
    @pytest.mark.parametrize("calls", [0, 1, 2, 3, 4, 5, 6])
    def test_a_crash_at_any_stage_loses_and_repeats_nothing(self, calls: int) -> None:
        step = shift(over="5s")
        for _ in range(calls):
            outcome = step.call()
            step.clock.advance(outcome.after if isinstance(outcome, Again) else 0)

        step.crash()
        outcome = step.run()

        assert outcome == Done({"weight": 0, "before": 100, "version": step.platform.weights("chat").version})
        assert step.written() == [83, 66, 50, 33, 17, 0]

    @pytest.mark.parametrize("when", ["after", "lost"])
    def test_a_lost_answer_is_looked_after_and_written_once(self, when: str) -> None:
        step = shift(over="5s")
        step.platform.fail_next("weights", when)  # type: ignore[arg-type]

        assert isinstance(step.run(), Done)
        assert step.written() == [83, 66, 50, 33, 17, 0]

    def test_a_platform_that_does_not_answer_is_the_engines_to_retry(self) -> None:
        step = shift(over="5s")
        step.call()
        step.platform.fail_next("weights", "before")

        with pytest.raises(Unavailable):
            step.call()
        assert isinstance(step.run(), Done)
        assert step.written() == [83, 66, 50, 33, 17, 0]


class TestUndo:
    def test_a_ramp_undoes_to_its_beginning_when_the_canary_is_good(self) -> None:
        step = shift(over="5s")
        step.set_weight(90)
        step.run()

        (result,) = step.undo()

        assert (result.status, step.weight()) == (UndoStatus.UNDONE, 90)

    def test_half_a_ramp_undoes_to_its_beginning(self) -> None:
        step = shift(over="5s")
        for _ in range(3):
            step.call()
        step.crash()

        (result,) = step.undo()

        assert (result.status, step.weight()) == (UndoStatus.UNDONE, 100)

    @pytest.mark.parametrize(
        "signals",
        [
            {"canary": False},
            {"canary": None},
            {"silent": True},
            {"age": 10.1},
            {"canary_age": 10.1},
        ],
    )
    def test_users_are_not_sent_back_where_it_is_not_known_to_be_good(self, signals: dict) -> None:
        step = shift()
        step.run()
        for name, value in signals.items():
            setattr(step.signals, name, value)

        (result,) = step.undo()

        assert (result.status, step.weight()) == (UndoStatus.WITHHELD, 0)
        assert result.detail.startswith("zone-a stays at 0: ")

    def test_a_persons_change_after_the_step_stays(self) -> None:
        step = shift()
        step.run()
        step.set_weight(20)

        (result,) = step.undo()

        assert (result.status, step.weight()) == (UndoStatus.FOREIGN, 20)
        assert "20" in result.detail

    def test_what_stands_as_before_already_is_undone_without_a_write(self) -> None:
        step = shift()
        step.run()
        step.set_weight(100)
        count = len(step.platform.writes())

        (result,) = step.undo()

        assert result.status is UndoStatus.UNDONE
        assert len(step.platform.writes()) == count

    def test_an_undo_that_lowers_a_weight_needs_no_canary(self) -> None:
        step = shift(weight=100)
        step.set_weight(30)
        step.run()
        step.signals.silent = True

        (result,) = step.undo()

        assert (result.status, step.weight()) == (UndoStatus.UNDONE, 30)

    def test_an_undo_done_again_after_a_crash_has_one_effect(self) -> None:
        step = shift()
        step.run()
        step.undo()
        step.undo()

        assert step.written() == [0, 100]


class TestDeclaration:
    @pytest.mark.parametrize(
        ("present", "weight", "dimension", "returns"),
        [
            (100, 0, Dimension.TRAFFIC, False),
            (0, 0, Dimension.TRAFFIC, False),
            (100, 10, Dimension.TRAFFIC, False),
            (10, 100, Dimension.TRAFFIC, True),
            (50, 50, Dimension.NOTHING, False),
        ],
    )
    def test_it_says_what_the_zone_loses_or_gets_back(
        self, present: int, weight: int, dimension: Dimension, *, returns: bool
    ) -> None:
        step = shift(weight)
        step.set_weight(present)

        (touch,) = step.action.touches(step.parameters, step.context())

        assert (str(touch.target), touch.dimension, touch.returns) == (
            "chat/local/zone-a",
            dimension,
            returns,
        )

    def test_its_plan_is_one_change_or_none(self) -> None:
        step = shift(0)
        (change,) = step.action.plan(step.parameters, step.context())

        assert (str(change.target), change.field, change.before, change.intended) == (
            "chat/local/zone-a",
            "weight",
            100,
            0,
        )
        assert shift(100).action.plan(shift(100).parameters, shift(100).context()) == []
