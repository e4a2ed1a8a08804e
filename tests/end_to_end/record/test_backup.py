"""`callgate backup` while a gateway serves, and `callgate restore` into another folder."""

import asyncio
import gzip
import hashlib
import io
import json
import secrets
import tarfile
from pathlib import Path
from typing import Any

import pytest
from databases.database import Database
from end_to_end.gateway_process import Finished, run_callgate, running_gateway
from end_to_end.upstream_stage import Actor
from mcp import Client
from stores.kinds import PostgresKind
from waiting import until

from callgate.app.commands.restore_backup import restore
from callgate.model.errors import CallerError
from callgate.vault.state_db import StateDb

OPERATOR, WATCHER = (secrets.token_hex(16) for _ in range(2))
COUNT = "SELECT count(*) AS n FROM rpc_events WHERE method = 'tools/call' AND outcome = 'answered'"


async def restored(tmp_path: Path, archive: Path, *more: str) -> Finished:
    place = tmp_path / "there"
    place.mkdir(exist_ok=True)
    return await run_callgate(
        place,
        "restore",
        str(archive),
        "--state-dir",
        str(place / "state"),
        "--config",
        str(place / "callgate.toml"),
        *more,
    )


async def test_a_backup_under_load_has_every_call_up_to_its_moment(tmp_path: Path) -> None:
    state, archive = tmp_path / "here", tmp_path / "backup.tar.gz"
    state.mkdir()
    StateDb(state).put_secret("api-key", b"sealed")
    answered: list[int] = []
    is_over = asyncio.Event()
    async with running_gateway(state) as gateway, Client(gateway.mcp_url) as client:
        (tool,) = [each.name for each in (await client.list_tools()).tools if each.name.endswith("query")]

        async def load() -> None:
            while not is_over.is_set():
                number = len(answered)
                told = await client.call_tool(tool, {"query": f"SELECT {number} AS load"})
                assert not told.is_error, told
                answered.append(number)

        loading = asyncio.create_task(load())
        await until(lambda: len(answered) >= 100 or loading.done())
        before = len(answered)
        done = await run_callgate(state, "backup", str(archive))
        assert done.exit_code == 0, done.stderr
        is_over.set()
        await loading
    assert archive.stat().st_mode & 0o777 == 0o600
    told = await restored(tmp_path, archive)
    assert told.exit_code == 0, told.stderr
    there = tmp_path / "there" / "state"
    counted = await run_callgate(there, "query", COUNT, "--json")
    assert before <= json.loads(counted.stdout)["rows"][0][0] <= len(answered)
    secret = StateDb(there).secret("api-key")
    assert secret is not None
    assert secret.sealed == b"sealed"
    assert (there / "state.key").read_bytes() == (state / "state.key").read_bytes()
    assert (there / "state.key").stat().st_mode & 0o777 == 0o600
    async with running_gateway(there) as gateway, Client(gateway.mcp_url) as client:
        await client.list_tools()  # it serves, and goes on with the record


async def test_a_backup_of_several_workers_has_the_calls_of_all(tmp_path: Path) -> None:
    state, archive = tmp_path / "here", tmp_path / "backup.tar.gz"
    state.mkdir()
    async with running_gateway(state, "--port", "0", "--workers", "2") as gateway:
        for number in range(20):
            async with Client(gateway.mcp_url) as client:  # a connection each, so that both workers get some
                await client.call_tool("demo__query", {"query": f"SELECT {number} AS load"})
        done = await run_callgate(state, "backup", str(archive))
        assert done.exit_code == 0, done.stderr
    assert (await restored(tmp_path, archive)).exit_code == 0
    counted = await run_callgate(tmp_path / "there" / "state", "query", COUNT, "--json")
    assert json.loads(counted.stdout)["rows"] == [[20]]


async def test_without_a_gateway_the_files_are_backed_up_and_the_configuration_too(tmp_path: Path) -> None:
    state, archive = tmp_path / "here", tmp_path / "backup.tar.gz"
    state.mkdir()
    (state / "callgate.toml").write_text("# mine\nversion = 1\n")
    (state / "callgate.lock").write_text("{}")
    assert (await run_callgate(state, "backup", str(archive))).exit_code == 0
    with tarfile.open(archive) as tar:
        assert tar.getnames()[-1] == "manifest.json"
    assert (await restored(tmp_path, archive)).exit_code == 0
    assert (tmp_path / "there" / "callgate.toml").read_text() == "# mine\nversion = 1\n"
    assert (tmp_path / "there" / "callgate.lock").read_text() == "{}"
    refused = await restored(tmp_path, archive)
    assert refused.exit_code == 1
    assert "would be replaced" in refused.stderr
    (tmp_path / "there" / "callgate.toml").write_text("version = 1\n# newer")
    forced = await restored(tmp_path, archive, "--overwrite")
    assert forced.exit_code == 0, forced.stderr
    (kept,) = (tmp_path / "there").glob("callgate.toml.before-*")
    assert kept.read_text() == "version = 1\n# newer"


async def test_the_record_goes_to_where_the_restored_configuration_has_it(tmp_path: Path) -> None:
    state, archive, volume = tmp_path / "here", tmp_path / "backup.tar.gz", tmp_path / "there" / "volume"
    state.mkdir()
    (state / "callgate.toml").write_text('version = 1\n[record]\npath = "${PLACE:-volume}"\n')
    async with running_gateway(state) as gateway, Client(gateway.mcp_url) as client:
        await client.call_tool("demo__query", {"query": "SELECT 1"})
        assert (await run_callgate(state, "backup", str(archive))).exit_code == 0
    volume.mkdir(parents=True)
    (volume / "days").write_text("of somebody else")
    refused = await restored(tmp_path, archive)
    assert refused.exit_code == 1
    assert "would be replaced" in refused.stderr
    assert not (tmp_path / "there" / "state").exists()
    told = await restored(tmp_path, archive, "--overwrite")
    assert told.exit_code == 0, told.stderr
    (before,) = volume.glob("before-*")
    assert (before / "days").read_text() == "of somebody else"
    assert str(before) in told.stdout
    assert not (tmp_path / "there" / "state" / "record").exists()
    config = tmp_path / "there" / "callgate.toml"
    counted = await run_callgate(
        tmp_path / "there" / "state", "query", COUNT, "--json", "--config", str(config)
    )
    assert json.loads(counted.stdout)["rows"] == [[1]], counted.stderr


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("a file", "cannot be used as a folder"),
        ("a file/below", "cannot be used as a folder"),
        (".", "has the state folder"),
        ("state", "has the state folder"),
    ],
)
async def test_a_place_of_the_record_that_cannot_be_used_changes_nothing(
    tmp_path: Path, path: str, words: str
) -> None:
    archive, there = tmp_path / "backup.tar.gz", tmp_path / "there"
    archive.write_bytes(backup_with_record(f'version = 1\n[record]\npath = "{path}"\n'))
    there.mkdir()
    (there / "a file").write_text("of somebody else")
    told = await restored(tmp_path, archive, "--overwrite")
    assert told.exit_code != 0
    assert words in told.stderr
    assert "CALLGATE_RECORD_PATH" in told.stderr
    assert not any((there / "state").iterdir()) if (there / "state").exists() else True
    assert (there / "a file").read_text() == "of somebody else"
    assert not (there / "callgate.toml").exists()


@pytest.mark.parametrize("path", ["state/record", "state/./record", "state/elsewhere"])
async def test_a_record_whose_path_is_in_the_state_folder_is_restored_there_also_twice(
    tmp_path: Path, path: str
) -> None:
    archive = tmp_path / "backup.tar.gz"
    archive.write_bytes(backup_with_record(f'version = 1\n[record]\npath = "{path}"\n'))
    for more in ([], ["--overwrite"]):
        told = await restored(tmp_path, archive, *more)
        assert told.exit_code == 0, told.stderr
        assert (tmp_path / "there" / path / "days" / "2026-01-01.duckdb").read_bytes() == b"a day"


async def test_with_the_record_in_a_database_a_backup_has_the_rest_and_says_so(
    tmp_path: Path, postgres: Database
) -> None:
    kind = PostgresKind(postgres)
    state, archive = tmp_path / "here", tmp_path / "backup.tar.gz"
    state.mkdir()
    (state / "callgate.toml").write_text(f'version = 1\n[record]\nstore = "{kind.database.dsn}"\n')
    async with running_gateway(state) as gateway, Client(gateway.mcp_url) as client:
        await client.call_tool("demo__query", {"query": "SELECT 1"})
        told = await run_callgate(state, "backup", str(archive))
    assert told.exit_code == 0, told.stderr
    assert "use that database's own backup" in told.stderr
    with tarfile.open(archive) as tar:
        assert not [name for name in tar.getnames() if name.startswith("record/")]
        manifest = tar.extractfile("manifest.json")
        assert manifest is not None
        left_out = manifest.read().decode()
    assert "use that database's own backup" in left_out
    assert kind.database.password not in left_out + told.stderr
    assert (await restored(tmp_path, archive)).exit_code == 0
    there = tmp_path / "there" / "state"
    config = str(tmp_path / "there" / "callgate.toml")
    counted = await run_callgate(there, "query", COUNT, "--json", "--config", config)
    assert json.loads(counted.stdout)["rows"] == [[1]], counted.stderr
    kind.close()


async def test_a_restored_gateway_opens_its_record_in_the_database_with_the_restored_secret_and_goes_on(
    tmp_path: Path, postgres: Database
) -> None:
    kind = PostgresKind(postgres)
    state, archive, there = tmp_path / "here", tmp_path / "backup.tar.gz", tmp_path / "there"
    state.mkdir()
    password = kind.database.password
    dsn = kind.database.dsn.replace(f":{password}@", ":${secret:record}@")
    actor = Actor("one", tmp_path, ["--era", "legacy"], trust="hold")
    actor.offer(tools=[{"name": "add", "inputSchema": {"type": "object"}}])
    text = f'version = 1\n[server]\nlisten = "127.0.0.1:0"\n[record]\nstore = "{dsn}"\n{actor.toml()}'
    (state / "callgate.toml").write_text(text)
    assert (await run_callgate(state, "secret", "set", "record", stdin=password.encode())).exit_code == 0
    assert (await run_callgate(state, "trust")).exit_code == 0
    async with running_gateway(state) as gateway, Client(gateway.mcp_url) as client:
        for _ in range(3):
            await client.call_tool("one__add", {})
    assert (await run_callgate(state, "backup", str(archive))).exit_code == 0
    rows = "SELECT id, batch, ts, stored_on FROM callgate_store.rpc_events ORDER BY batch, place"
    before = kind.database.run(rows)
    (state / "state.key").unlink()  # whoever still reads the first gateway's folder fails

    told = await restored(tmp_path, archive)
    assert told.exit_code == 0, told.stderr
    assert kind.database.run(rows) == before
    for name in ("callgate.toml", "callgate.lock"):
        assert (there / name).read_bytes() == (state / name).read_bytes()
    # The lock holds: one that knows no tool of this server would hold this one back.
    more = ("--config", str(there / "callgate.toml"))
    async with running_gateway(there / "state", *more) as gateway, Client(gateway.mcp_url) as client:
        await client.call_tool("one__add", {})
        assert (await gateway.get("/healthz"))["status"] == "ok"
    counted = await run_callgate(there / "state", "query", COUNT, "--json", *more)
    assert json.loads(counted.stdout)["rows"] == [[4]], counted.stderr
    assert kind.database.run(rows).startswith(before)
    kind.close()


def archive_of(entries: dict[str, bytes | tarfile.TarInfo], manifest: dict[str, Any] | None) -> bytes:
    out = io.BytesIO()
    # The bytes are in the names of tests, and those must not depend on the time.
    zipping = gzip.GzipFile(fileobj=out, mode="wb", mtime=0)
    with zipping as zipped, tarfile.open(fileobj=zipped, mode="w|") as tar:
        for name, data in entries.items():
            if isinstance(data, tarfile.TarInfo):
                tar.addfile(data)
                continue
            head = tarfile.TarInfo(name)
            head.size = len(data)
            tar.addfile(head, io.BytesIO(data))
        if manifest is not None:
            text = json.dumps(manifest).encode()
            head = tarfile.TarInfo("manifest.json")
            head.size = len(text)
            tar.addfile(head, io.BytesIO(text))
    return out.getvalue()


def backup_with_record(config: str) -> bytes:
    entries = {"config/callgate.toml": config.encode(), "record/2026-01-01.duckdb": b"a day"}
    told = {
        name: {"size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in entries.items()
    }
    return archive_of({**entries}, MANIFEST | {"entries": told})


def link(name: str) -> tarfile.TarInfo:
    head = tarfile.TarInfo(name)
    head.type, head.linkname = tarfile.SYMTYPE, "/etc"
    return head


def device(name: str) -> tarfile.TarInfo:
    head = tarfile.TarInfo(name)
    head.type, head.devmajor, head.devminor = tarfile.CHRTYPE, 1, 5
    return head


def lengthened(kind: bytes, count: int, size_bytes: int) -> tarfile.TarInfo:
    """Many headers that only say more of the next one, as one entry."""
    text = b"%d comment=" % size_bytes
    text += b"x" * (size_bytes - len(text) - 1) + b"\n"
    head = tarfile.TarInfo("state/state.key")
    head.type, head.size = kind, len(text)
    block = head.tobuf(tarfile.USTAR_FORMAT) + text + bytes(-len(text) % tarfile.BLOCKSIZE)

    class Repeated(tarfile.TarInfo):
        def tobuf(self, *_: Any) -> bytes:  # pyright: ignore[reportIncompatibleMethodOverride]
            return block * count

    return Repeated("state/state.key")


MANIFEST = {"format": 1, "callgate": "1", "made_at": "now", "entries": {}}
KEY = {"state/state.key": {"size_bytes": 1, "sha256": "0" * 64}}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"no archive", "is no whole backup"),
        (archive_of({}, MANIFEST)[:40], "is no whole backup"),
        (archive_of({"state/state.key": b"x"}, None), "its manifest is missing"),
        (archive_of({"state/state.key": b"x"}, MANIFEST | {"entries": KEY}), "is not what its manifest says"),
        (archive_of({"../../etc/cron.d/x": b"x"}, MANIFEST), "does not belong into a backup"),
        (archive_of({"state/state.key": link("state/state.key")}, MANIFEST), "is not a regular file"),
        (archive_of({"state/state.db": device("state/state.db")}, MANIFEST), "is not a regular file"),
        (archive_of({"state/../state.key": b"x"}, MANIFEST), "does not belong into a backup"),
        (archive_of({"/state/state.key": b"x"}, MANIFEST), "does not belong into a backup"),
        (archive_of({}, MANIFEST | {"format": 2}), "was written by a newer Callgate"),
        (archive_of({"x": lengthened(tarfile.XHDTYPE, 1, 1024**2)}, MANIFEST), "is cut or damaged"),
        (archive_of({"x": lengthened(tarfile.XHDTYPE, 3000, 512)}, MANIFEST), "is cut or damaged"),
        (archive_of({"x": lengthened(tarfile.GNUTYPE_LONGNAME, 3000, 512)}, MANIFEST), "is cut or damaged"),
    ],
    # An archive holds the time: in each process of a test run the ids would be others, and none would begin.
    ids=[
        *("no archive", "cut", "no manifest", "other bytes", "path", "link", "device", "path inside"),
        *("absolute path", "newer", "long header", "headers in headers", "names in names"),
    ],
)
async def test_what_is_no_whole_backup_changes_nothing(tmp_path: Path, data: bytes, words: str) -> None:
    archive = tmp_path / "backup.tar.gz"
    archive.write_bytes(data)
    told = await restored(tmp_path, archive)
    assert told.exit_code != 0
    assert words in told.stderr
    assert not (tmp_path / "there" / "state").exists()


@pytest.mark.parametrize("name", ["state/state.key", "state/../../escaped", "state/state.db", None])
def test_an_archive_that_is_another_one_when_it_is_read_again_restores_nothing(
    tmp_path: Path, name: str | None
) -> None:
    archive, state = tmp_path / "backup.tar.gz", tmp_path / "there" / "state"
    told = {"state/state.key": {"size_bytes": 1, "sha256": hashlib.sha256(b"x").hexdigest()}}
    archive.write_bytes(archive_of({"state/state.key": b"x"}, MANIFEST | {"entries": told}))
    other = tmp_path / "other"
    other.write_bytes(archive_of({} if name is None else {name: b"y"}, MANIFEST | {"entries": told}))

    def meanwhile(doing: str) -> None:
        if doing.startswith("checking"):
            other.replace(archive)

    with pytest.raises(CallerError):
        restore(archive, state, tmp_path / "there" / "callgate.toml", overwrites=False, tell=meanwhile)
    assert [path for path in (tmp_path / "there").rglob("*") if path.is_file()] == []
    assert not state.exists()


async def test_a_folder_that_a_gateway_runs_on_is_not_replaced(tmp_path: Path) -> None:
    archive = tmp_path / "backup.tar.gz"
    archive.write_bytes(archive_of({}, MANIFEST))
    state = tmp_path / "there" / "state"
    state.mkdir(parents=True)
    async with running_gateway(state):
        told = await restored(tmp_path, archive, "--overwrite")
    assert told.exit_code == 1
    assert "A gateway runs on" in told.stderr


async def test_only_an_operator_gets_the_files(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(
        f'version = 1\n[server]\ntokens = ["{OPERATOR}"]\n'
        f'[principals.eve]\ntoken = "{WATCHER}"\nrole = "watch"\n'
    )
    async with running_gateway(tmp_path) as gateway:
        url = f"{gateway.announced['url']}/api/v1/record/files"
        command = (
            "curl",
            "-s",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            url,
        )
        codes: list[str] = []
        for token in (WATCHER, OPERATOR):
            process = await asyncio.create_subprocess_exec(
                *command, "-H", f"Authorization: Bearer {token}", stdout=asyncio.subprocess.PIPE
            )
            codes.append((await process.communicate())[0].decode())
    assert codes == ["403", "200"]
