"""The short form of `scripts/chaos clients`."""

from chaos.trials import run


def test_clients_that_come_and_go_leave_neither_processes_nor_memory_behind() -> None:
    sizes = ("--minutes", "0.1", "--clients", "10", "--servers", "3", "--pause-s", "0.3")
    assert "processes at the end as at the start" in run("clients", *sizes, "--max-children", "10")
