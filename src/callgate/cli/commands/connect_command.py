"""`callgate connect CLIENT`: puts our entry into a client's file, with a principal and a token of its own."""

from dataclasses import dataclass, replace
from pathlib import Path

from callgate.app.commands.tell_gateway import GatewayHere
from callgate.app.running import find_running
from callgate.app.setup.connect_client import (
    ConnectPlan,
    apply_plan,
    connected_as,
    plan_connection,
    shown,
    undo,
)
from callgate.app.setup.loading import load_config, own_file, problems_of, secrets_at
from callgate.app.state_folder import make_folder
from callgate.cli.commands.secret_commands import take_over, take_over_or_start
from callgate.cli.commands.token_commands import new_token, until_of
from callgate.cli.terminal import confirmed, print_json, print_line, print_text, say
from callgate.config.client_files import choose_path, find_client
from callgate.config.mcp_clients import NAME, TOKEN, Door, McpClient
from callgate.config.paths import installed_program, state_folder
from callgate.config.sources.flags import Flags
from callgate.config.specs.listen_address import UNIX
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS, SETUP_CONFIG
from callgate.model.errors import CallerError, SetupError
from callgate.model.identity import token_hash_of

_EXPIRES = "90d"
_MCP_PATH = "/mcp"


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    is_project: bool = False
    is_dry: bool = False
    is_sure: bool = False
    as_json: bool = False


def run_connect(flags: Flags, key: str, options: ConnectOptions) -> None:
    client, project = find_client(key), Path.cwd() if options.is_project else None
    door = _door(flags)
    if client.syntax == "yaml":
        _show_to_paste(client, door, f"The file of {client.title} is not written by Callgate.", options)
        return
    path = choose_path(client, project)
    principal = key if project is None else f"{key}-{project.name}"
    token = new_token()
    until = until_of(_EXPIRES)
    if client.key == "opencode" and not path.exists():
        _show_to_paste(client, door, f"There is no file of {client.title}, and none is made.", options)
        return
    # Such a client starts us in a folder of its own, where our file is not found.
    arguments = ("stdio", "--config", str(own_file(flags.config).path))
    door = replace(door, program=_program(), arguments=arguments)
    try:
        plan = plan_connection(client, path, door, token, is_shared=project is not None)
    except SetupError as error:
        _show_to_paste(client, door, f"{error.message}.", options)
        raise
    if options.as_json:
        told = {"file": str(path), "place": list(plan.entry.loc), "entry": shown(plan, token)}
        print_json({**told, "principal": principal, "role": "call", "expires": until and until.isoformat()})
    else:
        print_line(f"{path}   +")
        print_text(_indented(shown(plan, token)))
        print_line(f"principal {principal} (call), token until {until:%d %b %Y}" if until else principal)
    if options.is_dry:
        return
    if confirmed("Write it?", is_sure=options.is_sure):
        _write(flags, plan, principal, token)
        _tell_token(plan, token)
        undo_words = f"callgate connect {key}{' --project' if project else ''} --undo"
        say(f"Written. To take it back: {undo_words}")
    else:
        say("Nothing was written.")


def run_undo(flags: Flags, key: str, options: ConnectOptions) -> None:
    client = find_client(key)
    path = choose_path(client, Path.cwd() if options.is_project else None)
    state = secrets_at(flags)[1]
    gateway = GatewayHere(flags)
    edit = own_file(flags.config)
    gateway.check_serves(edit.path)
    known, is_whole = undo(state, client, path)
    if edit.has(("principals", known.principal)):
        edit.remove(("principals", known.principal))
        edit.write(problems_of)
    if options.as_json:
        print_json({"file": str(path), "is_restored": is_whole, "principal": known.principal})
    else:
        done = "is what it was before" if is_whole else "was changed since: only our entry was taken out"
        say(f"{path} {done}. {known.principal} has no token any more.")
    take_over(gateway)


def _write(flags: Flags, plan: ConnectPlan, principal: str, token: str) -> None:
    state = secrets_at(flags)[1]
    make_folder(state)
    gateway = GatewayHere(flags)
    place = ("principals", principal)
    edit = own_file(flags.config)
    gateway.check_serves(edit.path)
    known = connected_as(state, plan.client, plan.path)
    if edit.has(place) and (known is None or known.principal != principal):
        hint = f"If it is not used any more: callgate token revoke {principal}"
        raise CallerError(CALLER_BAD_ARGUMENTS, f"There is a principal {principal!r} already", hint=hint)
    entry = {"token_hash": token_hash_of(token), "role": "call", "expires": until_of(_EXPIRES)}
    if edit.has(place):
        edit.remove(place)
    edit.set(place, entry)
    edit.write(problems_of)
    try:
        apply_plan(plan, state, principal)
    except BaseException:
        again = own_file(flags.config)
        again.remove(place)
        again.write(problems_of)
        raise
    take_over_or_start(gateway)


def _door(flags: Flags) -> Door:
    config = load_config(flags).config
    running = find_running(state_folder(config))
    listen = config.server.listen
    if running.url.startswith(UNIX) if running is not None else listen.socket_path is not None:
        hint = (
            "Write the address of the proxy in front of it into the client, or let it start: callgate stdio"
        )
        raise SetupError(
            SETUP_CONFIG, "This gateway listens on a Unix socket, which no client opens", hint=hint
        )
    if running is not None:
        return Door(running.url + _MCP_PATH)
    if listen.port == 0:
        hint = "Start the gateway first, or write [server] listen with a port"
        raise SetupError(SETUP_CONFIG, "The address of this gateway is not known yet", hint=hint)
    host = f"[{listen.host}]" if ":" in listen.host else listen.host
    if host in ("0.0.0.0", "[::]"):  # noqa: S104 - it listens everywhere, and here is one of these places
        host = "127.0.0.1"
    return Door(f"http://{host}:{listen.port}{_MCP_PATH}")


def _program() -> str:
    return str(installed_program() or NAME)


def _show_to_paste(client: McpClient, door: Door, why: str, options: ConnectOptions) -> None:
    """The text alone: a principal is made by hand, where there is somebody to paste its token."""
    text = client.entry(replace(door, needs_token=True, program=_program()))
    if options.as_json:
        print_json({"paste": text, "files": [file.path for file in client.files]})
        return
    say(why)
    say(f"Paste this into it. A token for {TOKEN} comes from: callgate token add {client.key}")
    print_text(text)


def _tell_token(plan: ConnectPlan, token: str) -> None:
    if plan.entry.has_token:
        return
    where = "when it asks for it" if plan.entry.inputs else f"as the variable {TOKEN}"
    say(f"This is the token, and it is not shown again. Give it to {plan.client.title} {where}.")
    print_line(token)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
