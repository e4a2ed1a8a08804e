"""`callgate import`: the servers of other clients, taken over into callgate.toml."""

import sys
from dataclasses import replace
from pathlib import Path

from callgate.app.commands.tell_gateway import GatewayHere
from callgate.app.setup.import_servers import (
    FoundServer,
    Import,
    asked_inputs,
    find_servers,
    inputs_of,
    with_values,
)
from callgate.app.setup.keep_secrets import keep_new_secret, named_at, with_named_secrets
from callgate.app.setup.loading import own_file, problems_of
from callgate.cli.commands.secret_commands import read_value, take_over_or_start
from callgate.cli.tables import TableColumn, print_table
from callgate.cli.terminal import confirmed, print_json, say
from callgate.config.client_files import find_client
from callgate.config.edit_file import FileEdit
from callgate.config.mcp_clients import CLIENTS
from callgate.config.problem import ConfigProblems
from callgate.config.raw_values import table_of
from callgate.config.secret import mask_args, mask_url
from callgate.config.sources.adopt_file import OURS, Input, variable_of_input
from callgate.config.sources.flags import Flags
from callgate.config.sources.pasted_secrets import PastedSecret, secrets_in
from callgate.model.errors import CallgateError
from callgate.model.wording import counted

_MAX_ABOUT_CHARS = 100
_MAX_NAME_CHARS = 60
_COLUMNS = (
    TableColumn("name"), TableColumn("from"), TableColumn("state"), TableColumn("server", shrinks=True)
)  # fmt: skip


def run_import(flags: Flags, chosen: str | None, *, is_dry: bool, moves: bool, as_json: bool) -> None:
    clients = [find_client(key.strip()) for key in chosen.split(",")] if chosen else list(CLIENTS)
    gateway = GatewayHere(flags)
    edit = own_file(flags.config)
    if not is_dry:
        gateway.check_serves(edit.path)
    found = find_servers(
        [one for one in clients if one.syntax != "yaml"], Path.cwd(), table_of(edit.tree.get(OURS))
    )
    secrets = sum(len(list(secrets_in("server", one.name, one.entry))) for one in found.servers)
    if secrets and not moves and not is_dry and not as_json and sys.stdin.isatty():
        moves = confirmed(f"Keep {counted(secrets, 'secret')} sealed, outside of the file?", is_sure=False)
    asks = not is_dry and not as_json and sys.stdin.isatty()
    answers = _ask_inputs(found) if asks else {}
    states = {
        one.name: _take(flags, edit, one, found, answers, moves=moves, is_dry=is_dry) for one in found.servers
    }
    taken = [one for one in found.servers if states[one.name] != "left out"]
    if taken and not is_dry:
        edit.write(problems_of)
    if as_json:
        listed = [{"name": one.name, "from": one.client, "state": states[one.name]} for one in found.servers]
        print_json({"file": str(edit.path), "servers": listed, "told": found.told, "secrets": secrets})
    else:
        rows = [(one.name, one.client, states[one.name], _address(one)) for one in found.servers]
        print_table(_COLUMNS, rows) if rows else say(
            "No client of this machine has a server that is not here."
        )
        for line in found.told:
            say(f"  {line}")
        if secrets and not moves and is_dry:
            say(f"{counted(secrets, 'secret')} would stand in the file: --secrets keeps them sealed instead.")
    if is_dry or not taken:
        return
    say(f"Written to {edit.path}.")
    if secrets and not moves:
        say(
            f"{counted(secrets, 'secret')} may be read in that file. To have them sealed instead: "
            "callgate remove NAME, then callgate import --secrets"
        )
    take_over_or_start(gateway)


def _ask_inputs(found: Import) -> dict[str, str]:
    """What VS Code would ask the person for, by its id. Files of several people may have the same id: all
    servers that get the answer are named."""
    wanted: dict[str, list[str]] = {}
    for one in found.servers:
        for _, input_id in asked_inputs(one.entry):
            wanted.setdefault(input_id, []).append(one.name)
    answers: dict[str, str] = {}
    for input_id, servers in wanted.items():
        server = " and ".join(dict.fromkeys(servers))
        about = " ".join(found.inputs.get(input_id, Input()).description.split())[:_MAX_ABOUT_CHARS]
        say(f"For {server}: {input_id[:_MAX_ABOUT_CHARS]}{f': {about}' if about else ''}")
        # Only its variable: the prompt goes to the terminal as it is.
        answers[input_id] = read_value(f"Value of {variable_of_input(input_id)[:_MAX_ABOUT_CHARS]}: ")
    return answers


def _take(
    flags: Flags,
    edit: FileEdit,
    one: FoundServer,
    found: Import,
    answers: dict[str, str],
    *,
    moves: bool,
    is_dry: bool,
) -> str:
    """Into the edit, if it can be loaded there. What becomes of it."""
    place, told = (OURS, one.name), found.told
    left: list[PastedSecret] = []
    # What a person has answered is kept sealed in any case.
    asked = [
        replace(secret, name=_secret_name(input_id), value=answers[input_id])
        for secret, input_id in asked_inputs(one.entry)
        if input_id in answers
    ]

    def keep(secret: PastedSecret) -> str:
        return keep_new_secret(flags, secret.name, secret.value)

    try:
        # Checked with its values: a secret that is kept before it is known to be of use stays behind.
        edit.set(place, with_values(one.entry, asked))
        edit.check(problems_of)
        named = one.entry
        for secret in asked:
            named = named_at(named, secret, keep(secret))
        if moves and not is_dry:
            named, left = with_named_secrets("server", one.name, named, keep)
        if named is not one.entry:
            edit.remove(place)
            edit.set(place, named)
    except ConfigProblems as error:
        edit.remove(place)
        told.append(f"{one.name} of {one.client} is left out: {error.problems[0]}")
        if wanted := inputs_of(one.entry) - set(answers):
            variables = ", ".join(sorted(map(variable_of_input, wanted)))
            told.append(f"{one.name}: set {variables}, or import it at a terminal, which asks for it")
        return "left out"
    except CallgateError as error:
        told.append(f"{one.name} of {one.client} is left out: {error.message}")
        return "left out"
    told.extend(f"{one.name}: a secret stays in {secret.loc[0]}" for secret in left)
    return "disabled" if one.entry.get("disabled") else "new"


def _secret_name(input_id: str) -> str:
    return variable_of_input(input_id).lower().replace("_", "-")[:_MAX_NAME_CHARS].strip("-") or "input"


def _address(one: FoundServer) -> str:
    if "url" in one.entry:
        return mask_url(str(one.entry["url"]))
    words = [str(word) for word in (one.entry["command"], *one.entry.get("args", ()))]
    return " ".join(mask_args(words))
