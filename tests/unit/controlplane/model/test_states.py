"""State tables: whatever is reachable ends somewhere, and forbidden moves say what is allowed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.errors import Conflict
from controlplane.model.states import (
    FAULT_MOVES,
    INCIDENT_MOVES,
    RUN_MOVES,
    STEP_MOVES,
    FaultState,
    IncidentState,
    RunState,
    State,
    StepState,
    check_move,
    is_final,
)

TABLES = [
    (RunState, RUN_MOVES),
    (StepState, STEP_MOVES),
    (IncidentState, INCIDENT_MOVES),
    (FaultState, FAULT_MOVES),
]


@pytest.mark.parametrize(("states", "moves"), TABLES)
def test_every_state_is_in_its_table_and_can_end(
    states: type[State], moves: dict[State, frozenset[State]]
) -> None:
    assert {state: state.followers for state in states} == moves
    for state in states:
        reached, frontier = {state}, {state}
        while frontier:
            frontier = {after for before in frontier for after in moves[before]} - reached
            reached |= frontier
        assert any(is_final(after) for after in reached)


@given(st.sampled_from(RunState), st.sampled_from(RunState))
def test_only_listed_moves_pass(old: RunState, new: RunState) -> None:
    if new in RUN_MOVES[old]:
        assert check_move(old, new) is new
    else:
        with pytest.raises(Conflict, match="cannot go"):
            check_move(old, new)
