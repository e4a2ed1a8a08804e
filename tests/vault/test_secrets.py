"""Sealed secrets: only the right key under the right name opens them, and nothing of them is in an error."""

import traceback
from collections.abc import Callable
from pathlib import Path

import keyring
import pytest
from keyring.backends import fail, null

from callgate.model.error_codes import SETUP_SECRET
from callgate.model.errors import SetupError
from callgate.vault.keyring_key import is_wanted, keyring_key
from callgate.vault.secrets import BY_KEYRING, BY_STATE_KEY, Secrets
from callgate.vault.state_db import StateDb
from vault.memory_keyring import MemoryKeyring

VALUE = "hunter2-QZ7-ünïcode"


@pytest.fixture
def state(tmp_path: Path) -> StateDb:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return StateDb(folder)


def secrets_with(state: StateDb, key: bytes) -> Secrets:
    return Secrets(state, {BY_STATE_KEY: lambda: key, BY_KEYRING: lambda: keyring_key(state.path.parent)})


def refused(read: Callable[[], object]) -> str:
    """The sentence, of an error that names the secret and holds nothing of it."""
    with pytest.raises(SetupError) as caught:
        read()
    assert caught.value.code is SETUP_SECRET
    everything = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))
    assert "QZ7" not in everything
    assert "callgate secret set shop" in caught.value.hint
    return caught.value.message


def test_a_secret_comes_back_as_it_was_and_is_not_in_the_file(state: StateDb) -> None:
    secrets = secrets_with(state, b"key")
    secrets.set("shop", VALUE, BY_STATE_KEY)
    secrets.set("shop", VALUE + "!", BY_STATE_KEY)
    assert secrets_with(state, b"key").read("shop") == VALUE + "!"
    assert b"QZ7" not in b"".join(path.read_bytes() for path in state.path.parent.iterdir())
    assert [(one.name, one.is_readable) for one in secrets.kept()] == [("shop", True)]
    assert secrets.remove("shop")
    assert "no secret" in refused(lambda: secrets.read("shop"))


def test_one_value_is_never_sealed_twice_alike(state: StateDb) -> None:
    secrets = secrets_with(state, b"key")
    secrets.set("a", VALUE, BY_STATE_KEY)
    secrets.set("b", VALUE, BY_STATE_KEY)
    a, b = state.secrets()
    assert a.sealed[1:13] != b.sealed[1:13]


def test_another_key_opens_nothing(state: StateDb) -> None:
    secrets_with(state, b"key").set("shop", VALUE, BY_STATE_KEY)
    other = secrets_with(state, b"kez")
    assert "sealed with another key" in refused(lambda: other.read("shop"))
    assert [one.is_readable for one in other.kept()] == [False]


def test_a_row_that_was_moved_under_another_name_does_not_open(state: StateDb) -> None:
    secrets = secrets_with(state, b"key")
    secrets.set("other", VALUE, BY_STATE_KEY)
    found = state.secret("other")
    assert found is not None
    state.put_secret("shop", found.sealed)
    assert "row was changed" in refused(lambda: secrets.read("shop"))


def test_a_row_that_was_cut_or_changed_anywhere_does_not_open(state: StateDb) -> None:
    secrets = secrets_with(state, b"key")
    secrets.set("shop", VALUE, BY_STATE_KEY)
    found = state.secret("shop")
    assert found is not None
    for at in range(len(found.sealed)):
        state.put_secret("shop", found.sealed[:at])
        refused(lambda: secrets.read("shop"))
        flipped = bytearray(found.sealed)
        flipped[at] ^= 0x80
        state.put_secret("shop", bytes(flipped))
        refused(lambda: secrets.read("shop"))


def test_with_a_keyring_the_key_is_there_and_nowhere_else(state: StateDb) -> None:
    kept = MemoryKeyring()
    before = keyring.get_keyring()
    keyring.set_keyring(kept)
    try:
        secrets_with(state, b"one").set("shop", VALUE, BY_KEYRING)
        assert secrets_with(state, b"another").read("shop") == VALUE
        kept.passwords.clear()
        assert "sealed with another key" in refused(lambda: secrets_with(state, b"one").read("shop"))
        kept.is_locked = True
        with pytest.raises(SetupError, match="keyring cannot be used") as caught:
            secrets_with(state, b"one").read("shop")
        assert caught.value.code is SETUP_SECRET
    finally:
        keyring.set_keyring(before)


def test_a_machine_without_a_keyring_is_told_and_gets_no_other_key() -> None:
    before = keyring.get_keyring()
    try:
        keyring.set_keyring(fail.Keyring())
        with pytest.raises(SetupError, match="this machine has no keyring") as caught:
            is_wanted()
        assert caught.value.code is SETUP_SECRET
        keyring.set_keyring(null.Keyring())
        assert not is_wanted()
        keyring.set_keyring(MemoryKeyring())
        assert is_wanted()
    finally:
        keyring.set_keyring(before)
