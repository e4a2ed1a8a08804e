"""`[sources.ssh]` and the certificate keys of a source: what is read, and what is refused with advice."""

from pathlib import Path

import pytest
from config.conftest import LoadText, ProblemsOf

from callgate.app.setup import setup_problems
from callgate.app.sources import settings_of
from callgate.config.show import masked
from callgate.sql.settings import ServerAddress, SshHop, TlsMode

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIhGD8uoolQEM91X29nn7Pdv0dCwyV0/d8lALFcHKFoA"
SOURCE = '[[sources]]\nid = "shop"\ndsn = "postgres://me:pw@db.internal/shop"\n'


def server_in(load_text: LoadText, text: str) -> ServerAddress:
    config = load_text(text).config
    server = settings_of(config.sources[0], config).server
    assert server is not None
    return server


def test_a_tunnel_with_all_its_keys(load_text: LoadText, tmp_path: Path) -> None:
    server = server_in(
        load_text,
        SOURCE
        + f"""[sources.ssh]
host = "gate.internal"
port = 2222
user = "tunnel"
key = "keys/id"
key_password = "open sesame"
known_hosts = "hosts"
host_key = "{KEY} a comment"
jump = ["first.internal", "me@[2001:db8::1]:23"]
""",
    )
    ssh = server.ssh
    assert ssh is not None
    assert ssh.hops == (
        SshHop("first.internal", 22, "tunnel"),
        SshHop("2001:db8::1", 23, "me"),
        SshHop("gate.internal", 2222, "tunnel"),
    )
    assert (ssh.key_file, ssh.known_hosts_file) == (tmp_path / "keys/id", tmp_path / "hosts")
    assert (ssh.key_password, ssh.host_key) == ("open sesame", KEY)
    # What the far side does with the database's own encryption is another matter.
    assert server.tls.mode is TlsMode.VERIFY


def test_a_host_alone_is_enough(load_text: LoadText, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "somebody")
    ssh = server_in(load_text, f'{SOURCE}[sources.ssh]\nhost = "gate"\njump = "first"\n').ssh
    assert ssh is not None
    assert ssh.hops == (SshHop("first", 22, "somebody"), SshHop("gate", 22, "somebody"))
    assert (ssh.key_file, ssh.known_hosts_file) == (None, tmp_path / ".ssh/known_hosts")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("", "host"),
        ('host = "me@gate"', "not a host name"),
        ('host = "gate"\nport = 0', "port"),
        ('host = "gate"\nport = true', "true or false"),
        ('host = "gate"\nuser = "me@gate"', "user's name"),
        ('host = "gate"\nhost_key = "MD5:00:11"', "fingerprint"),
        ('host = "gate"\nhost_key = "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIIhGD8uoolQEM91X29nn7"', "fingerprint"),
        ('host = "gate"\njump = ["ssh://first"]', "user@host:port"),
        ('host = "gate"\njump = ["first:99999"]', "user@host:port"),
        ('host = "gate"\nknownhosts = "x"', "known_hosts"),
    ],
)
def test_what_is_wrong_with_a_tunnel_is_told(written: str, told: str, problems_of: ProblemsOf) -> None:
    (problem,) = problems_of(f"{SOURCE}[sources.ssh]\n{written}\n")
    assert told in str(problem)
    assert "sources[0].ssh" in str(problem)


def test_a_file_needs_no_tunnel(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of(
        '[[sources]]\nid = "shop"\ndsn = "sqlite:///shop.db"\n[sources.ssh]\nhost = "gate"\n'
    )
    assert "ssh is for database servers" in str(problem)


@pytest.mark.parametrize(
    ("text", "package", "extra"),
    [
        (f'{SOURCE}[sources.ssh]\nhost = "gate"\n', "asyncssh", "ssh"),
    ],
)
def test_an_extra_that_is_missing_is_a_problem_of_the_configuration(
    text: str, package: str, extra: str, load_text: LoadText, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_text(text).config
    assert list(setup_problems.setup_problems(config)) == []
    found = setup_problems.find_spec
    monkeypatch.setattr(setup_problems, "find_spec", lambda name: None if name == package else found(name))
    (problem,) = setup_problems.setup_problems(config)
    assert f"pip install '.[{extra}]'" in str(problem)


def test_certificates_may_stand_beside_the_address(load_text: LoadText, tmp_path: Path) -> None:
    text = f'{SOURCE}ssl_ca = "ca.pem"\nssl_cert = "/c.pem"\nssl_key = "k.pem"\nssl_key_password = "sesame"\n'
    tls = server_in(load_text, text).tls
    assert (tls.ca_file, tls.cert_file, tls.key_file) == (
        tmp_path / "ca.pem",
        Path("/c.pem"),
        tmp_path / "k.pem",
    )
    assert tls.key_password == "sesame"
    assert "sesame" not in str(masked(load_text(text).config))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{SOURCE}ssl_key = "k.pem"\n', "needs its ssl_cert"),
        (SOURCE.replace("/shop", "/shop?ssl_ca=/a") + 'ssl_ca = "/b"\n', "stands in the dsn too"),
        (SOURCE.replace("/shop", "/shop?sslrootcert=/a") + 'ssl_ca = "/b"\n', "given twice"),
        ('[[sources]]\nid = "shop"\ndsn = "sqlite:///shop.db"\nssl_ca = "/a"\n', "for database servers"),
    ],
)
def test_certificates_that_make_no_sense_are_refused(text: str, told: str, problems_of: ProblemsOf) -> None:
    (problem,) = problems_of(text)
    assert told in str(problem)


@pytest.mark.parametrize("name", ["server_public_key", "serverRSAPublicKeyFile", "server-public-key-path"])
def test_the_server_s_key_is_a_file_beside_the_configuration(
    name: str, load_text: LoadText, tmp_path: Path
) -> None:
    text = f'[[sources]]\nid = "shop"\ndsn = "mysql://me@db/shop?ssl=off&{name}=key.pem"\n'
    server = server_in(load_text, text)
    assert server.server_key_file == tmp_path / "key.pem"
    assert not server.fetches_server_key
