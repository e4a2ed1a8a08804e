"""`callgate token`: made once, known to the gateway, listed, taken away."""

import json
import re
import zlib
from datetime import date, timedelta
from pathlib import Path

from end_to_end.gateway_process import run_callgate

from callgate.model.identity import token_hash_of


async def test_a_token_is_shown_once_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "callgate.toml"
    file.write_text("version = 1\n# mine\n")
    made = await run_callgate(tmp_path, "token", "add", "nightly")
    assert made.exit_code == 0, made.stderr
    token = made.stdout.strip()
    assert re.fullmatch(r"cg_[A-Za-z0-9_-]{43}[0-9a-f]{8}", token)
    assert f"{zlib.crc32(token[3:-8].encode()):08x}" == token[-8:]
    assert token_hash_of(token) in file.read_text()
    assert token not in file.read_text() + made.stderr
    assert "# mine" in file.read_text()
    listed = json.loads((await run_callgate(tmp_path, "token", "list", "--json")).stdout)
    (entry,) = listed["tokens"]
    assert (entry["name"], entry["role"], entry["is_expired"]) == ("nightly", "call", False)
    (written,) = re.findall(r"expires = (\S+)", file.read_text())
    assert f"until {written}" in made.stderr
    assert entry["expires"].startswith(str(date.fromisoformat(written) + timedelta(days=1)))
    shown = (await run_callgate(tmp_path, "token", "list")).stdout
    assert f"nightly\tcall\t{written}\t" in shown, "the day that was said, in the file and in the list"


async def test_a_name_is_taken_until_it_is_replaced_or_revoked(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text("version = 1\n")
    options = ("--role", "watch", "--expires", "never", "--json")
    first = json.loads((await run_callgate(tmp_path, "token", "add", "x", *options)).stdout)
    taken = await run_callgate(tmp_path, "token", "add", "x")
    assert (taken.exit_code, taken.stdout) == (2, "")
    assert "--replace" in taken.stderr
    second = json.loads((await run_callgate(tmp_path, "token", "add", "x", "--replace", *options)).stdout)
    assert first["token"] != second["token"]
    assert (second["role"], second["expires"]) == ("watch", None)
    assert (await run_callgate(tmp_path, "token", "revoke", "x")).exit_code == 0
    assert (tmp_path / "callgate.toml").read_text().strip() == "version = 1"
    again = await run_callgate(tmp_path, "token", "revoke", "x")
    assert "There is no principal 'x'" in again.stderr


async def test_mistakes_say_what_to_do(tmp_path: Path) -> None:
    alone = await run_callgate(tmp_path, "token", "add", "x")
    assert (alone.exit_code, "callgate init" in alone.stderr) == (3, True)
    (tmp_path / "callgate.toml").write_text("version = 1\n")
    for arguments, said in (
        (("x", "--role", "wach"), "watch"),
        (("x", "--expires", "soon"), "90d"),
        (("x", "--expires", "2020-01-01"), "is over"),
        (("local",), "the person at this machine"),
    ):
        done = await run_callgate(tmp_path, "token", "add", *arguments)
        assert done.exit_code != 0, arguments
        assert said in done.stderr, arguments
        assert done.stdout == "", "no token is shown that does not work"
    assert (tmp_path / "callgate.toml").read_text() == "version = 1\n"
