"""A password that a program prints: asked for when it is needed, renewed, and shown to nobody."""

from dataclasses import replace
from pathlib import Path

import pytest
from sql.network.conftest import Opener, Source

from callgate.model.errors import SourceError
from callgate.sql.settings import ServerAddress


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Prints what `answer` holds, and writes a line for each time that it ran."""
    path = tmp_path / "print-password"
    path.write_text(f"#!/bin/sh\necho ran >> {tmp_path}/runs\necho sesame >&2\ncat {tmp_path}/answer\n")
    path.chmod(0o700)
    return path


def runs(program: Path) -> int:
    path = program.parent / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


async def address_with(either: Opener, program: Path, ttl_s: float = 900.0) -> ServerAddress:
    async with either() as source:
        address = source.address
    (program.parent / "answer").write_text(f"{address.password}\n")
    return replace(address, password=None, password_command=(str(program), "--now"), password_ttl_s=ttl_s)


async def trouble_of(source: Source) -> str:
    with pytest.raises(SourceError) as caught:
        await source.run("SELECT 1")
    assert caught.value.code.code == "source.unavailable"
    return source.driver.trouble() or ""


async def test_it_is_asked_for_once_while_it_is_good(either: Opener, program: Path) -> None:
    address = await address_with(either, program)
    async with either(address=address) as source:
        for _ in range(3):
            assert await source.cell("SELECT 7") == 7
            source.driver._pool.drop_idle()
        assert runs(program) == 1


async def test_it_is_renewed_for_new_connections_once_it_is_not(either: Opener, program: Path) -> None:
    address = await address_with(either, program, ttl_s=0.0)
    async with either(address=address) as source:
        for _ in range(3):
            assert await source.cell("SELECT 7") == 7
            source.driver._pool.drop_idle()
        assert runs(program) == 3


async def test_one_that_was_refused_is_not_tried_again(either: Opener, program: Path) -> None:
    address = await address_with(either, program)
    right = (program.parent / "answer").read_text()
    (program.parent / "answer").write_text("hunter2\n")
    async with either(address=address) as source:
        assert "hunter2" not in await trouble_of(source)
        (program.parent / "answer").write_text(right)
        source.driver._pool._retry_at = 0.0
        assert await source.cell("SELECT 7") == 7


async def test_a_stopped_statement_is_ended_with_a_password_that_is_good_then(
    either: Opener, program: Path
) -> None:
    address = await address_with(either, program, ttl_s=0.0)
    async with either(address=address, timeout_s=0.3) as source:
        with pytest.raises(SourceError):
            await source.run(f"{source.sleep} /* by-command */")
        await source.until_running("by-command", 0)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exit 3", "did not print one line"),
        ("echo hunter2; exit 3", "exit code 3"),
        ("echo hunter2; echo hunter3", "did not print one line"),
        ("exec yes hunter2", "did not print one line"),
        ("echo hunter2; exec sleep 100", "did not end within"),
    ],
)
async def test_a_program_that_fails_is_told_without_what_it_said(
    maria: Opener, program: Path, script: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.program_output._LIMIT_S", 0.5)
    program.write_text(f"#!/bin/sh\necho sesame >&2\n{script}\n")
    address = await address_with(maria, program)
    async with maria(address=address) as source:
        trouble = await trouble_of(source)
        assert told in trouble
        assert not any(word in trouble for word in ("hunter", "sesame"))


async def test_a_program_that_is_not_there_is_told(maria: Opener, program: Path) -> None:
    address = await address_with(maria, program)
    program.unlink()
    async with maria(address=address) as source:
        assert "could not be started" in await trouble_of(source)
