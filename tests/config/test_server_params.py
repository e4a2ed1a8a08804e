"""What may follow the "?" of a database server's address: verified TLS unless told otherwise."""

from pathlib import Path

import pytest

from callgate.config.specs.dsn import DsnError, parse_dsn
from callgate.config.specs.server_params import ServerParams, read_server_params


def params_of(text: str) -> ServerParams:
    return read_server_params(parse_dsn(text))


def refusal_of(text: str) -> str:
    with pytest.raises(DsnError) as caught:
        params_of(text)
    return f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("scheme", ["mysql", "postgres"])
def test_beyond_this_machine_tls_is_verified_without_a_word(scheme: str) -> None:
    assert params_of(f"{scheme}://me@db.example/shop").tls_mode == "verify"
    assert params_of(f"{scheme}://me@10.0.0.7/shop").tls_mode == "verify"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "[::1]", ""])
def test_on_loopback_tls_is_used_when_offered(host: str) -> None:
    assert params_of(f"postgres://me@{host}/shop").tls_mode == "prefer"


def test_a_named_authority_is_looked_at_on_loopback_too() -> None:
    assert params_of("mysql://me@localhost/shop?ssl_ca=/ca.pem").tls_mode == "verify"


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ("ssl=off", "off"),
        ("sslmode=disable", "off"),
        ("ssl-mode=DISABLED", "off"),
        ("sslmode=require", "unverified"),
        ("ssl_mode=REQUIRED", "unverified"),
        ("sslmode=verify-ca", "verify-ca"),
        ("ssl-mode=VERIFY_CA", "verify-ca"),
        ("sslmode=verify-full", "verify"),
        ("ssl-mode=VERIFY_IDENTITY", "verify"),
        ("ssl=true", "verify"),
    ],
)
def test_the_words_of_other_tools_are_understood(written: str, mode: str) -> None:
    assert params_of(f"mysql://me@db/shop?{written}").tls_mode == mode


@pytest.mark.parametrize("written", ["ssl=prefer", "sslmode=prefer", "sslmode=allow", "ssl-mode=PREFERRED"])
def test_encryption_that_anybody_in_between_can_switch_off_is_refused(written: str) -> None:
    assert "ssl=verify" in refusal_of(f"postgres://me@db.example/shop?{written}")
    assert params_of(f"postgres://me@localhost/shop?{written}").tls_mode == "prefer"


def test_files_and_sockets_are_read() -> None:
    params = params_of(
        "postgres://me@db/shop?sslrootcert=/ca.pem&sslcert=/c.pem&sslkey=/k.pem&sslpassword=pw"
    )
    assert (params.ca_file, params.cert_file, params.key_file) == (
        Path("/ca.pem"),
        Path("/c.pem"),
        Path("/k.pem"),
    )
    assert params.key_password == "pw"
    assert "pw" not in repr(params)
    assert params_of("postgres:///shop?host=/run/postgresql").socket == Path("/run/postgresql")
    assert params_of("mysql:///shop?socket=/run/mysqld.sock").socket == Path("/run/mysqld.sock")


def test_relative_files_are_anchored_like_the_path_of_a_file_database() -> None:
    dsn = parse_dsn("mysql://me@db/shop?ssl_ca=ca.pem&application_name=ca.pem").anchored_at(
        Path("/etc/callgate")
    )
    assert dsn.params == {"ssl_ca": "/etc/callgate/ca.pem", "application_name": "ca.pem"}


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("sslmod=require", 'Did you mean "ssl'),
        ("ssl=maybe", "off, unverified, verify-ca, verify"),
        ("ssl=off&sslmode=require", "turns it off"),
        ("socket=/a&unix_socket=/b", "given twice"),
        ("ssl=unverified&ssl_ca=/ca.pem", "ssl=verify"),
        ("ssl_key=/k.pem", "ssl_cert"),
        ("connect_timeout=soon", "seconds"),
        ("hostaddr=10.0.0.1", "hostaddr"),
        ("init_command=SET+x", "init_command"),
    ],
)
def test_what_makes_no_sense_is_refused_with_advice(written: str, words: str) -> None:
    assert words in refusal_of(f"mysql://me@db/shop?{written}")


def test_a_refusal_repeats_no_value() -> None:
    assert "hunter2" not in refusal_of("mysql://me@db/shop?hunter=hunter2")
    assert "hunter2" not in refusal_of("mysql://me@db/shop?ssl=hunter2")
