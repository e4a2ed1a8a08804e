"""`[principals]`: what is read, and every mistake with its own sentence."""

from datetime import UTC, datetime

import pytest
from config.conftest import LoadText, ProblemsOf

from callgate.app.principals import bearer_tokens, gate_rules
from callgate.edge.gate import ExpiredTokenError, MissingTokenError, WrongTokenError, identify
from callgate.model.identity import LOCAL, Role, token_hash_of

TOKEN, OTHER = "9f3c27d1a8e64b05", "kX7-vq2LmZ9_wR4tB0aD"
HASH = token_hash_of(TOKEN)
NOON = datetime(2027, 2, 13, 12, tzinfo=UTC).timestamp()
DAY = 86400


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_roles_come_from_the_file_and_the_least_is_the_default(load_text: LoadText) -> None:
    config = load_text(
        f"""
[server]
tokens = ["{OTHER}", {{ token = "0a91c4f26b7d83e5", principal = "ops" }}]
[principals.nightly]
token_hash = "{HASH}"
[principals.viewer]
token = "5d7be02c91f4a638"
role = "watch"
[principals.ops]
role = "watch"
"""
    ).config
    roles = {one.principal.name: one.principal.role for one in bearer_tokens(config)}
    assert roles == {
        "token-1": Role.OPERATE, "ops": Role.WATCH, "nightly": Role.CALL, "viewer": Role.WATCH,
    }  # fmt: skip


@pytest.mark.parametrize("written", ["2027-02-13", '"2027-02-13"'])
def test_a_date_is_good_until_its_end(load_text: LoadText, written: str) -> None:
    config = load_text(f'[principals.nightly]\ntoken_hash = "{HASH}"\nexpires = {written}\n').config
    rules = gate_rules(config)
    assert identify(rules, bearer(TOKEN), NOON).name == "nightly"
    with pytest.raises(ExpiredTokenError):
        identify(rules, bearer(TOKEN), NOON + DAY / 2)
    assert rules.next_expiry_s(NOON) == NOON + DAY / 2
    assert rules.next_expiry_s(NOON + DAY) is None


def test_principals_alone_leave_the_local_person_in_and_name_the_others(load_text: LoadText) -> None:
    rules = gate_rules(load_text(f'[principals.nightly]\ntoken_hash = "{HASH}"\n').config)
    assert identify(rules, {}, NOON) == LOCAL
    assert identify(rules, {}, NOON).role is Role.OPERATE
    assert identify(rules, bearer(TOKEN), NOON).role is Role.CALL
    with pytest.raises(WrongTokenError):
        identify(rules, bearer(OTHER), NOON)


def test_beyond_loopback_nobody_comes_without_a_token(load_text: LoadText) -> None:
    text = f'[server]\nlisten = "0.0.0.0:7420"\n[principals.nightly]\ntoken_hash = "{HASH}"\n'
    with pytest.raises(MissingTokenError):
        identify(gate_rules(load_text(text).config), {}, NOON)


def test_a_local_person_may_be_given_less(load_text: LoadText) -> None:
    rules = gate_rules(load_text('[principals.local]\nrole = "call"\n').config)
    assert identify(rules, {}, NOON).role is Role.CALL


def test_an_old_token_is_a_warning_and_the_gateway_serves(load_text: LoadText) -> None:
    loaded = load_text(f'[principals.nightly]\ntoken_hash = "{HASH}"\nexpires = 2020-01-01\n')
    (warning,) = [one for one in loaded.warnings if one.key_path.startswith("principals")]
    assert "has expired" in warning.message
    assert "callgate token add nightly --replace" in warning.hint


TWO = f'token = "{TOKEN}"\ntoken_hash = "{HASH}"\n'
ONE = f'[principals.a]\ntoken_hash = "{HASH}"\n'
NAMED_A = f'[server]\ntokens = [{{ token = "{OTHER}", principal = "a" }}]\n'
BEYOND = '[server]\nlisten = "0.0.0.0:7420"\n'


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        (f"[principals.a]\n{TWO}", "principals.a", "token and token_hash"),
        (
            f'[principals.a]\ntoken = "{TOKEN}"\n[principals.b]\ntoken_hash = "{HASH}"\n',
            "principals.b.token_hash",
            "same token as principals.a.token",
        ),
        (
            f'[server]\ntokens = ["{TOKEN}"]\n[principals.b]\ntoken_hash = "{HASH}"\n',
            "principals.b.token_hash",
            "same token as server.tokens[0]",
        ),
        ('[principals.a]\nrole = "watch"\n', "principals.a", "has no token"),
        (f'[principals.local]\ntoken_hash = "{HASH}"\n', "principals.local", "the person at this machine"),
        (
            NAMED_A + ONE,
            "principals.a",
            "a token in [server] tokens",
        ),
        (ONE.replace("sha256:", "sha1:"), "principals.a.token_hash", "not the hash of a token"),
        (ONE + 'role = "admin"\n', "principals.a.role", "watch"),
        (ONE + 'expires = "soon"\n', "principals.a.expires", "not a date"),
        (ONE + "expires = 3\n", "principals.a.expires", "a date is expected"),
        ("[principals.local]\nexpires = 2027-01-01\n", "principals.local.expires", "no token"),
        (f'[principals."a\\u0007"]\ntoken_hash = "{HASH}"\n', "principals", "can be printed"),
        ('[principals.a]\ntoken = "short"\n', "principals.a.token", "shorter than 16"),
        ("principals = 3\n", "principals", "a table is expected"),
        (BEYOND + '[principals.local]\nrole = "call"\n', "server.tokens", "needs at least"),
    ],
)  # fmt: skip
def test_each_mistake_is_named(problems_of: ProblemsOf, text: str, place: str, said: str) -> None:
    told = [str(problem) for problem in problems_of(text)]
    assert any(one.startswith(place) and said in one for one in told), told
    assert not any(TOKEN in one for one in told)


CONFINED = f"""
[principals.nightly]
token_hash = "{HASH}"
[mcpServers.files]
command = "files"
sandbox = true
"""


def test_a_confined_program_with_a_network_is_refused_where_one_may_leave_the_token_out(
    problems_of: ProblemsOf, load_text: LoadText
) -> None:
    """Whoever does is `local` on loopback, and may name a program to start."""
    assert [one.key_path for one in problems_of(CONFINED)] == ["mcpServers.files.sandbox"]
    for server in (f'tokens = ["{OTHER}"]', 'listen = "0.0.0.0:7420"'):
        assert load_text(f"[server]\n{server}\n{CONFINED}").config.mcp_servers["files"].sandbox
