"""A database behind an SSH server: one tunnel for a pool, host keys always checked, clear words when not."""

import asyncio
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from databases.sshd import Sshd, make_key, sshd_server
from sql.network.conftest import Opener, Source
from waiting import until

from callgate.model.errors import SourceError
from callgate.sql.settings import ServerAddress, Ssh, SshHop, Tls, TlsMode

HERE = "127.0.0.1"


@pytest.fixture(scope="module")
def sshd() -> Iterator[Sshd]:
    with sshd_server() as server:
        (server.folder / "known_hosts").write_text(server.known_hosts_line)
        yield server


def hop_of(sshd: Sshd) -> SshHop:
    return SshHop(HERE, sshd.port, sshd.user)


def ssh_of(sshd: Sshd, *jumps: Sshd, known_hosts: Path | None = None) -> Ssh:
    return Ssh(
        tuple(map(hop_of, (*jumps, sshd))),
        known_hosts or sshd.folder / "known_hosts",
        sshd.key,
    )


async def address_through(opener: Opener, ssh: Ssh) -> ServerAddress:
    async with opener() as source:
        # Wide: a busy machine needs seconds for what takes milliseconds.
        return replace(source.address, ssh=ssh, connect_timeout_s=30.0)


async def trouble_with(opener: Opener, ssh: Ssh, **changes: object) -> str:
    """What the operator is told; what callers are told has no address in it."""
    address = replace(await address_through(opener, ssh), **changes)
    async with opener(address=address) as source:
        with pytest.raises(SourceError) as caught:
            await source.cell("SELECT 7")
        assert caught.value.code.code == "source.unavailable"
        assert str(ssh.hops[-1].port) not in caught.value.message + caught.value.hint
        return source.driver.trouble() or ""


async def test_a_pool_shares_one_tunnel(either: Opener, sshd: Sshd) -> None:
    async with either(address=await address_through(either, ssh_of(sshd)), pool_size=8) as source:
        before = len(sshd.sessions())
        answers = await asyncio.gather(*(source.cell(f"SELECT {n}") for n in range(32)))
        assert answers == list(range(32))
        assert len(sshd.sessions()) == before + 1
        assert len(str(await source.cell("SELECT repeat('x', 3000000)"))) > 8_000
    await until(lambda: len(sshd.sessions()) == before)


async def test_encryption_is_asked_for_inside_of_the_tunnel(post: Opener, sshd: Sshd) -> None:
    address = await address_through(post, ssh_of(sshd))
    async with post(address=replace(address, tls=Tls(TlsMode.UNVERIFIED))) as source:
        with pytest.raises(SourceError):  # this server has no TLS: it was asked for all the same
            await source.cell("SELECT 7")
        assert "offers no TLS" in (source.driver.trouble() or "")


async def test_a_unix_socket_of_the_far_side_is_reached(maria: Opener, sshd: Sshd) -> None:
    async with maria() as source:
        path = source.server.socket
    if not path.exists():
        pytest.skip("the server is behind a proxy")
    address = replace(await address_through(maria, ssh_of(sshd)), socket=path)
    async with maria(address=address) as source:
        assert await source.cell("SELECT 7") == 7


async def test_a_tunnel_that_is_killed_under_a_statement_is_told_and_made_anew(
    either: Opener, sshd: Sshd
) -> None:
    async with either(address=await address_through(either, ssh_of(sshd))) as source:
        running = asyncio.create_task(source.run(f"{source.sleep} /* tunnelled */"))
        await source.until_running("tunnelled", 1)
        sshd.end_sessions()
        with pytest.raises(SourceError) as caught:
            await running
        assert "connection to the database was lost" in caught.value.message
        assert await source.cell("SELECT 8") == 8


async def test_a_statement_is_stopped_through_the_tunnel(either: Opener, sshd: Sshd) -> None:
    address = await address_through(either, ssh_of(sshd))
    async with either(address=address, timeout_s=0.5) as source:
        with pytest.raises(SourceError) as caught:
            await source.run(f"{source.sleep} /* far-away */")
        assert caught.value.code.code == "source.timeout"
        await source.until_running("far-away", 0)


async def test_a_jump_host_is_passed(post: Opener, sshd: Sshd, tmp_path: Path) -> None:
    with sshd_server() as gate:
        (gate.folder / "authorized_keys").write_text(sshd.key.with_suffix(".pub").read_text())
        known = tmp_path / "known_hosts"
        known.write_text(gate.known_hosts_line + sshd.known_hosts_line)
        ssh = ssh_of(sshd, gate, known_hosts=known)
        async with post(address=await address_through(post, ssh)) as source:
            assert await source.cell("SELECT 7") == 7
            assert len(gate.sessions()) == 1
        known.write_text(sshd.known_hosts_line)
        assert f"{HERE}:{gate.port} is not known" in await trouble_with(post, ssh)
        known.write_text(gate.known_hosts_line)
        async with post(address=await address_through(post, ssh)) as source:
            for _ in range(3):  # never from the jump host, which was passed already
                source.driver._pool._retry_at = 0.0
                with pytest.raises(SourceError):
                    await source.cell("SELECT 7")
                assert f"{HERE}:{sshd.port} is not known" in (source.driver.trouble() or "")


async def test_an_unknown_host_key_is_told_with_the_line_that_makes_it_known(
    post: Opener, sshd: Sshd, tmp_path: Path
) -> None:
    known = tmp_path / "known_hosts"
    trouble = await trouble_with(post, ssh_of(sshd, known_hosts=known))
    assert "is not known" in trouble
    assert "SHA256:" in trouble
    line = trouble.partition(f"add this line to {known}: ")[2]
    assert line.strip() == sshd.known_hosts_line.strip()
    known.write_text(line + "\n")
    async with post(address=await address_through(post, ssh_of(sshd, known_hosts=known))) as source:
        assert await source.cell("SELECT 7") == 7


async def test_a_changed_host_key_is_refused(post: Opener, sshd: Sshd, tmp_path: Path) -> None:
    other = " ".join(make_key(tmp_path / "other").with_suffix(".pub").read_text().split()[:2])
    known = tmp_path / "known_hosts"
    known.write_text(f"[{HERE}]:{sshd.port} {other}\n")
    trouble = await trouble_with(post, ssh_of(sshd, known_hosts=known))
    assert "has another host key" in trouble
    assert "intercept" in trouble
    known.write_text(f"@revoked * {sshd.host_key}\n{HERE} {sshd.host_key}\n")
    assert "revoked" in await trouble_with(post, ssh_of(sshd, known_hosts=known))


async def test_no_other_file_than_the_named_one_is_looked_at(
    post: Opener, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/known_hosts").write_text(sshd.known_hosts_line)
    monkeypatch.setenv("HOME", str(tmp_path))
    named = tmp_path / "named"
    assert "is not known" in await trouble_with(post, ssh_of(sshd, known_hosts=named))
    named.write_text("")
    assert "is not known" in await trouble_with(post, ssh_of(sshd, known_hosts=named))
    named.write_text("@nonsense host ssh-ed25519 AAAA\n")
    assert "cannot be read" in await trouble_with(post, ssh_of(sshd, known_hosts=named))


async def test_a_pinned_host_key_needs_no_file(post: Opener, sshd: Sshd, tmp_path: Path) -> None:
    nowhere = ssh_of(sshd, known_hosts=tmp_path / "none")
    told = (await trouble_with(post, nowhere)).partition("SHA256:")[2]
    fingerprint = "SHA256:" + told.partition(".")[0]
    for pin in (fingerprint, sshd.host_key):
        async with post(address=await address_through(post, replace(nowhere, host_key=pin))) as source:
            assert await source.cell("SELECT 7") == 7
    other = " ".join(make_key(tmp_path / "other").with_suffix(".pub").read_text().split()[:2])
    for pin in (f"SHA256:{'A' * 43}", other):
        assert "than host_key says" in await trouble_with(post, replace(nowhere, host_key=pin))


async def test_a_wrong_key_is_told(post: Opener, sshd: Sshd, tmp_path: Path) -> None:
    ssh = replace(ssh_of(sshd), key_file=make_key(tmp_path / "stranger"))
    trouble = await trouble_with(post, ssh)
    assert f"refused the login as {sshd.user}" in trouble
    assert "authorized_keys" in trouble
    assert "cannot be opened" in await trouble_with(post, replace(ssh, key_file=tmp_path / "none"))
    (tmp_path / "text").write_text("not a key")
    assert "cannot be read" in await trouble_with(post, replace(ssh, key_file=tmp_path / "text"))


async def test_a_key_with_a_password_needs_it(post: Opener, sshd: Sshd, tmp_path: Path) -> None:
    locked = make_key(tmp_path / "locked", "-N", "open sesame")
    with (sshd.folder / "authorized_keys").open("a") as keys:
        keys.write(locked.with_suffix(".pub").read_text())
    ssh = replace(ssh_of(sshd), key_file=locked)
    assert "key_password" in await trouble_with(post, ssh)
    right = replace(ssh, key_password="open sesame")
    assert "open sesame" not in repr(right)
    async with post(address=await address_through(post, right)) as source:
        assert await source.cell("SELECT 7") == 7


async def test_the_agent_s_keys_are_offered_where_none_is_named(
    post: Opener, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL) as agent:
        try:
            await until(path.exists)
            monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
            ssh = replace(ssh_of(sshd), key_file=None)
            assert "those of the agent" in await trouble_with(post, ssh)
            subprocess.run(["ssh-add", "-q", str(sshd.key)], check=True)
            async with post(address=await address_through(post, ssh)) as source:
                assert await source.cell("SELECT 7") == 7
        finally:
            agent.terminate()


async def test_forwarding_that_is_refused_is_told(post: Opener) -> None:
    with sshd_server("AllowTcpForwarding no") as closed:
        (closed.folder / "known_hosts").write_text(closed.known_hosts_line)
        trouble = await trouble_with(post, ssh_of(closed))
        assert "refuses to forward" in trouble
        assert "AllowTcpForwarding" in trouble


async def test_what_is_away_is_named(post: Opener, sshd: Sshd) -> None:
    """The SSH server, or the database as the SSH server sees it."""
    assert "cannot reach it" in await trouble_with(post, ssh_of(sshd), port=1)
    gone = replace(ssh_of(sshd), hops=(SshHop(HERE, 1, "me"),))
    trouble = await trouble_with(post, gone)
    assert f"the SSH server {HERE}:1 cannot be reached: connection refused" in trouble


async def test_an_ssh_server_that_is_back_is_used_again(post: Opener, sshd: Sshd) -> None:
    """Nobody has to start anything again."""
    async with post(address=await address_through(post, ssh_of(sshd))) as source:
        assert await source.cell("SELECT 7") == 7
        for number in range(3):
            sshd.end_sessions()
            assert await _answered(source, number) == number


async def _answered(source: Source, number: int) -> object:
    try:
        return await source.cell(f"SELECT {number}")
    except SourceError:  # the end of the tunnel may show only with the statement
        return await source.cell(f"SELECT {number}")
