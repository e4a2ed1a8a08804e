"""The short form of `scripts/chaos lists`."""

from chaos.trials import run


def test_a_list_comes_before_slow_servers_and_each_of_them_is_told_once() -> None:
    told = run("lists", "--servers", "6", "--slow", "2", "--slow-s", "3", "--without-times")
    assert "list_changed" in told
