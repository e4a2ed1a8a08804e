"""Since when a server is in its state, and what was wrong with it last."""

from callgate.model.health import Failure, Health, State, StateHistory

UP = Health("x", "mcp", State.UP, "fine")
STARTING = Health("x", "mcp", State.STARTING, "starting")
DOWN = Health("x", "mcp", State.DOWN, "it ended with 3", "upstream.exited")


def test_a_state_lasts_from_when_it_was_first_seen() -> None:
    history = StateHistory()
    assert [history.look(health, at).since for at, health in enumerate((UP, UP, DOWN, DOWN, UP))] == [
        0,
        0,
        2,
        2,
        4,
    ]


def test_a_server_that_is_started_in_vain_is_down_since_it_went_down_first() -> None:
    history = StateHistory()
    states = (UP, DOWN, STARTING, DOWN, STARTING, DOWN, UP, DOWN)
    assert [history.look(health, at).since for at, health in enumerate(states)] == [0, 1, 2, 1, 4, 1, 6, 7]


def test_what_was_wrong_is_remembered_once_it_is_right_again() -> None:
    history = StateHistory()
    assert history.look(UP, 1).last_failure is None
    history.look(DOWN, 2)
    history.look(DOWN, 3)
    assert history.look(UP, 4).last_failure == Failure(2, "it ended with 3", "upstream.exited")


def test_the_same_failure_again_is_a_new_one() -> None:
    history = StateHistory()
    looked = [history.look(health, at) for at, health in enumerate((DOWN, UP, DOWN))]
    assert looked[-1].last_failure == Failure(2, "it ended with 3", "upstream.exited")
