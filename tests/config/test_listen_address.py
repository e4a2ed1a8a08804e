import pytest

from callgate.config.specs.listen_address import ListenAddress, ListenError, parse_listen


@pytest.mark.parametrize(
    ("text", "host", "port", "is_loopback"),
    [
        ("127.0.0.1:7420", "127.0.0.1", 7420, True),
        ("127.8.8.8:1", "127.8.8.8", 1, True),
        ("localhost:0", "localhost", 0, True),
        ("[::1]:7420", "::1", 7420, True),
        ("[::]:7420", "::", 7420, False),
        ("0.0.0.0:80", "0.0.0.0", 80, False),
        ("gateway.example:443", "gateway.example", 443, False),
        ("127.0.0.1.example:443", "127.0.0.1.example", 443, False),
    ],
)
def test_host_and_port_are_read_and_reach_is_known(
    text: str, host: str, port: int, is_loopback: bool
) -> None:
    address = parse_listen(text)
    assert (address.host, address.port, address.is_loopback) == (host, port, is_loopback)
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["", "7420", ":7420", "localhost", "::1:7420", "[::1]", "h:99999", "h:x", "h:²", "a b:1", "[x:y]:1"],
)
def test_anything_else_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(ListenError) as caught:
        parse_listen(text)
    assert caught.value.hint


def test_the_default_is_this_machine_only() -> None:
    assert str(ListenAddress()) == "127.0.0.1:7420"
