"""`traffic.restore`: no stage without proof, back at the first sign of harm, never over a person's change."""

import pytest
from pydantic import ValidationError

from controlplane.actions.traffic_restore import RestoreParameters, TrafficRestore
from controlplane.model.action import Dimension, UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind
from tests.support.steps import StepDriver


def restore(present: int = 0, **with_: object) -> StepDriver:
    step = StepDriver(TrafficRestore(), zone="zone-a", **with_)
    step.set_weight(present)
    return step


def advance_to(step: StepDriver, weight: int) -> None:
    """Run until the zone stands at ``weight`` and is being watched there."""
    for _ in range(1000):
        outcome = step.call()
        assert isinstance(outcome, Again), outcome
        step.clock.advance(outcome.after)
        if step.weight() == weight and step.state.get("phase") == "hold":
            return
    raise AssertionError(f"never at {weight}: {step.reasons[-1]}")


class TestStages:
    def test_a_good_zone_is_raised_in_stages_that_are_each_held(self) -> None:
        step = restore()

        outcome = step.run()

        version = step.platform.weights("chat").version
        assert outcome == Done({"weight": 100, "before": 0, "version": version})
        assert step.written() == [5, 25, 100]
        times = [record.at for record in step.platform.writes() if record.by]
        assert [(at - times[0]).total_seconds() for at in times] == pytest.approx([0, 10, 20])
        assert step.clock.monotonic() == pytest.approx(30)

    def test_stages_are_per_cent_of_the_weight_and_never_nothing(self) -> None:
        step = restore(weight=8)
        step.run()

        assert step.written() == [1, 2, 8]

    def test_stages_below_the_weight_that_the_zone_has_are_left_out(self) -> None:
        step = restore(25)
        step.run()

        assert step.written() == [100]

    def test_a_zone_that_has_the_weight_is_done_without_a_write(self) -> None:
        step = restore(100)

        assert isinstance(step.run(), Done)
        assert step.written() == []

    @pytest.mark.parametrize("stages", [[], [50], [25, 5, 100], [5, 5, 100], [0, 100], [5, 120]])
    def test_stages_that_do_not_rise_to_100_are_refused(self, stages: list) -> None:
        with pytest.raises(ValidationError):
            RestoreParameters.model_validate({"zone": "zone-a", "stages": stages})


class TestProof:
    @pytest.mark.parametrize(
        "unknown", [{"canary": None}, {"silent": True}, {"age": 10.1}, {"canary_age": 10.1}]
    )
    def test_nothing_is_raised_while_the_canary_is_not_known_to_be_good(self, unknown: dict) -> None:
        step = restore()
        for name, value in unknown.items():
            setattr(step.signals, name, value)

        with pytest.raises(AssertionError, match="waiting: "):
            step.run(limit=120)
        assert step.written() == []

    def test_a_bad_canary_at_the_begin_fails_without_a_write(self) -> None:
        step = restore()
        step.signals.canary = False

        outcome = step.run()

        assert isinstance(outcome, Failed)
        assert outcome.kind is FailureKind.PERMANENT
        assert outcome.message == "zone-a was not raised from 0: the canary of zone-a is not good"
        assert step.written() == []

    @pytest.mark.parametrize("bad", ["canary", "slo", "clients"])
    @pytest.mark.parametrize("weight", [5, 25, 100])
    def test_harm_at_any_stage_takes_the_users_away_again_at_once(self, weight: int, bad: str) -> None:
        step = restore()
        advance_to(step, weight)
        step.clock.advance(3)
        setattr(step.signals, bad, False)
        before = step.clock.monotonic()

        outcome = step.run()

        assert isinstance(outcome, Failed)
        assert outcome.kind is FailureKind.PERMANENT
        assert outcome.message.startswith(f"zone-a did not hold at {weight} and is back at 0: ")
        assert (step.weight(), step.written()[-1]) == (0, 0)
        assert step.clock.monotonic() == before

    def test_what_broke_is_named(self) -> None:
        step = restore()
        advance_to(step, 5)
        step.clock.advance(3)
        step.signals.slo = False

        outcome = step.run()

        assert isinstance(outcome, Failed)
        assert outcome.outputs["reason"] == "slo:tpot@chat/local/zone-a is 0.5 against 0.95"

    def test_a_service_that_was_badly_off_before_does_not_speak_against_the_zone(self) -> None:
        step = restore()
        step.signals.clients = False

        assert isinstance(step.run(), Done)
        assert step.written() == [5, 25, 100]

    def test_a_service_that_was_badly_off_before_does_not_excuse_a_bad_zone(self) -> None:
        step = restore()
        step.signals.clients = False
        advance_to(step, 25)
        step.clock.advance(3)
        step.signals.slo = False

        assert isinstance(step.run(), Failed)
        assert step.weight() == 0

    def test_samples_from_before_the_stage_say_nothing_about_it(self) -> None:
        step = restore()
        step.signals.slo = False
        step.signals.window = 3600

        assert isinstance(step.run(), Done)

    def test_other_zones_and_thresholds_do_not_count(self) -> None:
        """The signals of the fixture are always bad for zone-b, and for a threshold of zone-a."""
        assert isinstance(restore().run(), Done)

    def test_a_stage_is_not_passed_blindly(self) -> None:
        step = restore()
        advance_to(step, 25)
        step.signals.slo = step.signals.clients = None
        step.signals.sources = {"engine": "lost", "gateway": "fresh"}

        with pytest.raises(
            AssertionError, match=r"waiting at 25: no SLO can be judged without .* from engine"
        ):
            step.run(limit=120)
        assert step.weight() == 25

        step.signals.sources = {"engine": "fresh", "gateway": "fresh"}
        assert isinstance(step.run(), Done)

    def test_a_source_that_no_verdict_needs_does_not_hold_it_up(self) -> None:
        step = restore()
        step.signals.sources = {"gpu": "lost"}

        assert isinstance(step.run(), Done)

    def test_too_few_requests_for_a_verdict_leave_the_word_to_the_canary(self) -> None:
        step = restore()
        step.signals.slo = step.signals.clients = None

        assert isinstance(step.run(), Done)

    def test_once_it_has_turned_back_a_better_look_does_not_change_its_mind(self) -> None:
        step = restore()
        advance_to(step, 25)
        step.signals.canary = False
        step.call()
        step.signals.canary = True

        assert isinstance(step.run(), Failed)
        assert step.weight() == 0

    def test_it_goes_back_to_what_stood_before_not_below(self) -> None:
        step = restore(20)
        advance_to(step, 25)
        step.signals.canary = False

        assert isinstance(step.run(), Failed)
        assert step.weight() == 20


class TestOthers:
    def test_a_persons_change_is_noticed_while_a_stage_is_held(self) -> None:
        step = restore()
        advance_to(step, 25)
        step.set_weight(60)

        outcome = step.run()

        assert isinstance(outcome, Failed)
        assert outcome.message == (
            "zone-a is at weight 60, not at 25: somebody else has set it, and it is left alone"
        )
        assert step.weight() == 60

    def test_a_persons_change_stays_even_when_the_zone_turns_bad(self) -> None:
        step = restore()
        advance_to(step, 25)
        step.set_weight(60)
        step.signals.canary = False

        outcome = step.run()

        assert isinstance(outcome, Failed)
        assert outcome.outputs["found"] == 60
        assert step.weight() == 60


class TestTrouble:
    @pytest.mark.parametrize("calls", range(0, 33, 4))
    def test_a_crash_at_any_call_loses_and_repeats_nothing(self, calls: int) -> None:
        step = restore()
        for _ in range(calls):
            outcome = step.call()
            assert isinstance(outcome, Again)
            step.clock.advance(outcome.after)

        step.crash()

        assert isinstance(step.run(), Done)
        assert step.written() == [5, 25, 100]

    def test_a_crash_after_a_stages_write_and_harm_still_go_back_to_the_beginning(self) -> None:
        step = restore()
        advance_to(step, 5)
        while step.state["phase"] != "raise":
            outcome = step.call()
            assert isinstance(outcome, Again)
            step.clock.advance(outcome.after)
        step.crash()
        assert step.weight() == 25
        step.signals.canary = False

        assert isinstance(step.run(), Failed)
        assert step.weight() == 0

    @pytest.mark.parametrize("when", ["after", "lost"])
    def test_a_lost_answer_is_written_once(self, when: str) -> None:
        step = restore()
        step.platform.fail_next("weights", when)  # type: ignore[arg-type]

        assert isinstance(step.run(), Done)
        assert step.written() == [5, 25, 100]


class TestUndo:
    def test_an_undo_lowers_the_weight_to_what_it_was_whatever_the_canary_says(self) -> None:
        step = restore(3)
        step.run()
        step.signals.silent = True

        (result,) = step.undo()

        assert (result.status, step.weight()) == (UndoStatus.UNDONE, 3)

    def test_after_it_went_back_itself_there_is_nothing_left_to_undo(self) -> None:
        step = restore()
        advance_to(step, 25)
        step.signals.canary = False
        step.run()
        count = len(step.platform.writes())

        (result,) = step.undo()

        assert result.status is UndoStatus.UNDONE
        assert len(step.platform.writes()) == count


def test_it_says_that_the_zone_gets_its_traffic_back() -> None:
    step = restore()
    (touch,) = step.action.touches(step.parameters, step.context())

    assert (str(touch.target), touch.dimension, touch.returns) == (
        "chat/local/zone-a",
        Dimension.TRAFFIC,
        True,
    )
