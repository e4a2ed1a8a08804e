"""The short form of `scripts/chaos reload`."""

from chaos.trials import run


def test_no_call_fails_and_nothing_is_left_behind_when_the_file_changes_under_load() -> None:
    told = run("reload", "--rate", "100", "--seconds", "10", "--reloads", "18", "--clients", "4")
    assert "no descriptor more than before" in told
