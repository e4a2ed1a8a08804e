"""TLS towards a database: verified unless told otherwise, and never left out in silence."""

import os
import shutil
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from databases.database import Database
from databases.mariadb import mariadb_server
from databases.postgres import postgres_server
from databases.sshd import sshd_server
from sql.network.certificates import CLIENT_KEY_PASSWORD, Certificates, make_certificates
from sql.network.conftest import Opener, Source, address_of, open_driver

from callgate.app.sources import server_of
from callgate.config.specs.dsn import parse_dsn
from callgate.model.errors import SourceError
from callgate.sql.engines.postgres.driver import scram
from callgate.sql.settings import Ssh, SshHop, Tls, TlsMode


@pytest.fixture(scope="module")
def certificates() -> Iterator[Certificates]:
    """Where the servers' own users can read them: pytest's folders are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="callgate-tls-"))
    folder.chmod(0o755)
    try:
        yield make_certificates(folder)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module", params=["mariadb", "postgres"])
def server(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[Database]:
    certificate, key = certificates.certificate, certificates.key
    if request.param == "mariadb":
        authority = f"--ssl-ca={certificates.authority}"
        with mariadb_server(f"--ssl-cert={certificate}", f"--ssl-key={key}", authority) as database:
            database.run("CREATE USER agent@'%' IDENTIFIED BY 'x' REQUIRE SUBJECT '/CN=agent'")
            yield database
        return
    if os.geteuid() == 0:
        shutil.chown(key, "postgres")
    rules = certificates.authority.with_name("pg_hba.conf")
    rules.write_text("hostssl all agent all cert\nhost all all all scram-sha-256\n")
    files = (f"ssl_cert_file={certificate}", f"ssl_key_file={key}", f"ssl_ca_file={certificates.authority}")
    with postgres_server("ssl=on", *files, f"hba_file={rules}") as database:
        database.run("CREATE ROLE agent LOGIN")
        yield database


def with_tls(
    server: Database, mode: TlsMode, host: str = "localhost", ca: Path | None = None
) -> AbstractAsyncContextManager[Source]:
    return open_driver(
        server, address=replace(address_of(server), host=host, tls=Tls(mode, ca)), timeout_s=1.0
    )


async def is_encrypted(source: Source) -> bool:
    if source.is_mysql:
        ((_, cipher),) = await source.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        return cipher != ""
    return bool(await source.cell("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))


async def test_a_certificate_of_the_named_authority_for_the_host_is_taken(
    server: Database, certificates: Certificates
) -> None:
    async with with_tls(server, TlsMode.VERIFY, ca=certificates.authority) as source:
        assert await is_encrypted(source)
        assert len(str(await source.cell("SELECT repeat('x', 300000)"))) > 8_000


def as_agent(
    server: Database, certificates: Certificates, *params: str
) -> AbstractAsyncContextManager[Source]:
    """By an address as people write it. The password is MariaDB's alone; PostgreSQL asks for none."""
    written = "&".join((f"ssl_ca={certificates.authority}", *params))
    address = server_of(parse_dsn(f"{server.scheme}://agent:x@localhost:{server.port}/?{written}"))
    assert address is not None
    database = None if server.scheme == "mysql" else server.database
    return open_driver(server, address=replace(address, database=database), timeout_s=10.0)


async def test_a_client_certificate_is_shown_to_a_server_that_wants_one(
    server: Database, certificates: Certificates
) -> None:
    ours = (f"ssl_cert={certificates.client_certificate}", f"ssl_key={certificates.client_key}")
    password = f"ssl_key_password={CLIENT_KEY_PASSWORD.replace(' ', '%20')}"
    async with as_agent(server, certificates, *ours, password) as source:
        assert await source.cell("SELECT 7") == 7
    async with as_agent(server, certificates, *ours, "ssl_key_password=another") as source:
        with pytest.raises(SourceError):
            await source.cell("SELECT 7")
        assert "ssl_key_password" in (source.driver.trouble() or "")


async def test_a_server_that_wants_a_client_certificate_and_gets_none_is_told(
    server: Database, certificates: Certificates
) -> None:
    async with as_agent(server, certificates) as source:
        with pytest.raises(SourceError):
            await source.cell("SELECT 7")
        assert "ssl_cert" in (source.driver.trouble() or "")


async def test_a_certificate_is_verified_inside_of_an_ssh_tunnel(
    server: Database, certificates: Certificates
) -> None:
    with sshd_server() as sshd:
        ssh = Ssh((SshHop("127.0.0.1", sshd.port, sshd.user),), Path("none"), sshd.key, None, sshd.host_key)
        tls = Tls(TlsMode.VERIFY, certificates.authority)
        address = replace(address_of(server), host="localhost", tls=tls, ssh=ssh, connect_timeout_s=30.0)
        async with open_driver(server, address=address) as source:
            assert await is_encrypted(source)
            assert len(str(await source.cell("SELECT repeat('x', 3000000)"))) > 8_000


async def test_a_certificate_of_an_unknown_authority_is_refused_with_advice(server: Database) -> None:
    async with with_tls(server, TlsMode.VERIFY) as source:
        with pytest.raises(SourceError) as caught:
            await source.run("SELECT 1")
        assert "certificate is not trusted" in caught.value.message
        assert "ssl_ca" in str(source.driver.trouble())


async def test_a_certificate_for_another_host_is_refused_unless_only_the_authority_counts(
    server: Database, certificates: Certificates
) -> None:
    async with with_tls(server, TlsMode.VERIFY, "127.0.0.1", certificates.authority) as source:
        with pytest.raises(SourceError):
            await source.run("SELECT 1")
    async with with_tls(server, TlsMode.VERIFY_CA, "127.0.0.1", certificates.authority) as source:
        assert await is_encrypted(source)


@pytest.mark.parametrize("mode", [TlsMode.UNVERIFIED, TlsMode.PREFER])
async def test_unverified_is_encrypted_all_the_same(server: Database, mode: TlsMode) -> None:
    async with with_tls(server, mode) as source:
        assert await is_encrypted(source)


async def test_off_is_off(server: Database) -> None:
    async with with_tls(server, TlsMode.OFF) as source:
        assert not await is_encrypted(source)


async def test_a_time_out_ends_the_statement_at_the_server_through_tls_too(
    server: Database, certificates: Certificates
) -> None:
    async with with_tls(server, TlsMode.VERIFY, ca=certificates.authority) as source:
        with pytest.raises(SourceError) as caught:
            await source.run(f"{source.sleep} /* through-tls */")
        assert caught.value.code.code == "source.timeout"
        await source.until_running("through-tls", 0)


@pytest.mark.parametrize("mode", [TlsMode.VERIFY, TlsMode.VERIFY_CA, TlsMode.UNVERIFIED])
async def test_a_server_without_tls_is_not_spoken_to_in_the_clear(either: Opener, mode: TlsMode) -> None:
    async with either() as source:
        address = replace(source.address, tls=Tls(mode))
        assert not await is_encrypted(source)
    async with either(address=address) as source:
        with pytest.raises(SourceError):
            await source.run("SELECT 1")
        assert "no TLS" in str(source.driver.trouble())


async def test_a_file_that_is_not_there_is_told(either: Opener, tmp_path: Path) -> None:
    async with either() as source:
        tls = Tls(TlsMode.VERIFY, tmp_path / "no-such-ca.pem")
        address = replace(source.address, tls=tls)
    async with either(address=address) as source:
        with pytest.raises(SourceError):
            await source.run("SELECT 1")
        assert source.driver.trouble() is not None


async def test_a_login_is_bound_to_the_line_where_that_is_asked_for(server: Database) -> None:
    address = replace(address_of(server), channel_binding="require")
    async with open_driver(server, address=replace(address, tls=Tls(TlsMode.UNVERIFIED))) as source:
        assert await source.cell("SELECT 7") == 7
    if server.scheme == "mysql":  # it has no such thing, and the configuration refuses to ask for it
        return
    async with open_driver(server, address=replace(address, tls=Tls(TlsMode.OFF))) as source:
        with pytest.raises(SourceError):
            await source.cell("SELECT 7")
        assert "channel_binding" in str(source.driver.trouble())


def test_a_login_is_bound_to_the_certificate_that_was_seen(certificates: Certificates) -> None:
    binding = scram.certificate_binding
    real = binding(ssl.PEM_cert_to_DER_cert(certificates.certificate.read_text()))
    assert real is not None
    assert len(real.data) == 32
    others = binding(ssl.PEM_cert_to_DER_cert(certificates.authority.read_text()))
    assert others != real
