"""What the quick scan lets pass, RE2 would have passed too: both are asked about the same texts."""

import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from recorder.secret_samples import MAKERS

from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact.secret_commands import COMMANDS
from callgate.recorder.redact.secret_names import STEMS
from callgate.recorder.redact.secret_patterns import KINDS, SecretKind
from callgate.recorder.redact.vector_scan import WORTH_BYTES, VectorScan

NAMES = ("authorization", "token", "password", "secret", "api_key", "clientSecret", "db_pass ")
ODD_KEYS = ("x-api.key", "pass word", "a+b|c", "(back\\slash", "tab\tkey", "[k]")
HINTED = (*KINDS, *COMMANDS)
FILLER = b'{"id":1000,"name":"alpha order","created_at":"2026-11-15T10:00:00","price":12.5},' * 20
# Letters that are another's upper or lower case, white space of every kind, and what ends a password.
NOISE = st.text(
    st.sampled_from("\u017f\u212akKsS\u0130\u0131 \t\n\v\f\r\x85\xa0\\/\"'`:@_-.=é漢😀*"), max_size=6
)
KEYS = st.sampled_from((*NAMES, *ODD_KEYS)).flatmap(
    lambda key: st.tuples(*(st.sampled_from((char, char.upper(), _odd(char))) for char in key)).map("".join)
)
HINTS = st.sampled_from([STEMS, *(kind.hint for kind in HINTED)]).flatmap(st.from_regex)
DSNS = st.builds("postgres://u{}:{}@h".format, NOISE, NOISE)
ESCAPES = st.sampled_from(("\\u0041", "\\u017F", "\\u212a", "\\/", "\\u00e9", "\\n", "\\\\"))
PLAIN = re.compile(r"(\(\?i\))?([A-Za-z0-9_:=~/@ |()*+?-]|\(\?:|\\\.|\[[A-Za-z0-9 ?&~-]+\])+")


def _odd(char: str) -> str:
    return {"k": "\u212a", "s": "\u017f"}.get(char, char)


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    """It has seen so much that the scan is worth its price, and is asked about all but short texts."""
    redactor = Redactor(ODD_KEYS)
    assert redactor.is_clean(b"x" * WORTH_BYTES)
    redactor.prepare()
    return redactor


@given(st.lists(st.one_of(KEYS, HINTS, DSNS, ESCAPES, NOISE), max_size=4), st.binary(max_size=4))
@example(["postgres://u\v:p@h"], b"")
@example(["pa\u017fsword=1"], b"")
@example(["to\u212aen=1"], b"")
def test_a_long_text_is_as_clean_as_a_short_one(redactor: Redactor, parts: list[str], noise: bytes) -> None:
    text = noise + "".join(parts).encode(errors="surrogatepass")
    assume(len(text) < 500)
    assert redactor.is_clean(FILLER + text + FILLER) == redactor.is_clean(b"," + text + b"{")


@pytest.mark.parametrize("name", MAKERS)
def test_the_scan_finds_every_kind_of_secret(redactor: Redactor, name: str) -> None:
    text, _ = MAKERS[name](random.Random(1))
    assert not redactor.is_clean(FILLER + text.encode() + FILLER)


@pytest.mark.parametrize("kind", HINTED, ids=lambda kind: kind.name)
def test_a_hint_is_of_what_both_libraries_read_alike(kind: SecretKind) -> None:
    assert PLAIN.fullmatch(kind.hint)


def test_it_lets_ordinary_text_pass_once_it_is_worth_its_price() -> None:
    scan = VectorScan(["needle"], worth_bytes=2 * len(FILLER))
    passed: list[bool] = []
    for _ in range(4):
        scan.prepare()
        passed.append(scan.finds_nothing(FILLER))
    assert passed == [False, False, True, True]
    assert not scan.finds_nothing(FILLER + b"needle")
    assert scan.finds_nothing(FILLER)


def test_a_pattern_that_the_library_does_not_take_lets_nothing_pass(caplog: pytest.LogCaptureFixture) -> None:
    scan = VectorScan(["(unclosed"], worth_bytes=0)
    for _ in range(2):
        scan.prepare()
        assert not scan.finds_nothing(FILLER)
    assert [told.levelname for told in caplog.records] == ["WARNING"]


def test_the_library_takes_every_pattern_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    redactor = Redactor(ODD_KEYS)
    assert redactor.is_clean(b"x" * WORTH_BYTES)
    redactor.prepare()
    assert not caplog.records


def test_threads_that_look_at_once_are_never_told_that_there_is_nothing() -> None:
    scan = VectorScan(["needle"], worth_bytes=0)
    scan.prepare()
    texts = [FILLER * 50 + b"needle", b"needle" + FILLER * 50] * 200
    with ThreadPoolExecutor(4) as threads:
        assert not any(threads.map(scan.finds_nothing, texts))
