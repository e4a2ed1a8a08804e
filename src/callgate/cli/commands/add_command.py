"""`callgate add` and `callgate remove`: one database or server more, tried first; or one less."""

import shlex
import sys
from dataclasses import asdict, dataclass, replace
from typing import Any

from callgate.app.commands.tell_gateway import GatewayHere
from callgate.app.edits.probe import probe, renamed
from callgate.app.loop import run_loop
from callgate.app.setup.keep_secrets import keep_new_secret, with_named_secrets
from callgate.app.setup.loading import own_file, problems_of
from callgate.cli.commands.secret_commands import read_value, take_over, take_over_or_start
from callgate.cli.terminal import confirmed, print_json, print_line, say
from callgate.config.edit_file import FileEdit
from callgate.config.raw_values import list_of, table_of
from callgate.config.sources.adopt_file import OURS
from callgate.config.sources.flags import Flags
from callgate.config.sources.pasted import MAX_PASTED_CHARS, Pasted, read_pasted
from callgate.config.sources.pasted_secrets import PastedSecret
from callgate.config.specs.dsn import parse_dsn
from callgate.model.error_codes import CALLER_NOT_FOUND, UPSTREAM_FAILED
from callgate.model.errors import CallerError, UpstreamError
from callgate.model.near_miss import did_you_mean
from callgate.model.wording import counted
from callgate.ports.server_care import Probed
from callgate.recorder.flush.tokens import TokenCounter

_MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class AddOptions:
    name: str | None = None
    is_dry: bool = False
    is_sure: bool = False
    anyway: bool = False  # also if it cannot be reached
    as_json: bool = False


def run_add(flags: Flags, words: list[str], options: AddOptions) -> None:
    """Raises CallgateError."""
    text = sys.stdin.read(MAX_PASTED_CHARS + 1) if words == ["-"] else _text_of(words)
    edit = own_file(flags.config)
    taken = _names(edit)
    pasted = read_pasted(text, taken, edit.path.parent)
    if options.name is not None:
        pasted = renamed(pasted, options.name, taken)
    pasted = _with_password(pasted)
    probed = run_loop(probe(pasted, edit.path.parent, is_local=True))
    _show(probed, options)
    if not probed.reachable and not options.anyway:
        hint = "Add it nevertheless with --anyway"
        raise UpstreamError(UPSTREAM_FAILED, f"{pasted.name} cannot be used as it is", hint=hint)
    if options.is_dry:
        return
    if not confirmed(f"Write it to {edit.path.name}?", is_sure=options.is_sure):
        say("Nothing was written.")
        return
    gateway = GatewayHere(flags)
    gateway.check_serves(edit.path)
    entry = _with_named_secrets(flags, pasted)
    edit.set(pasted.written_at(), entry)
    edit.write(problems_of)
    say(f"Written to {edit.path}.")
    take_over_or_start(gateway)


def run_remove(flags: Flags, name: str, *, as_json: bool) -> None:
    edit = own_file(flags.config)
    place = next((one for one in ((OURS, name), ("sources", name)) if edit.has(one)), None)
    if place is None:
        hint = did_you_mean(name, _names(edit)) or "callgate servers lists them"
        raise CallerError(CALLER_NOT_FOUND, f"There is no server {name[:100]!r} in {edit.path}", hint=hint)
    gateway = GatewayHere(flags)
    gateway.check_serves(edit.path)
    edit.remove(place)
    edit.write(problems_of)
    if as_json:
        print_json({"removed": name, "file": str(edit.path)})
    say(f"{name} is no longer in {edit.path}.")
    take_over(gateway)


def _text_of(words: list[str]) -> str:
    return words[0] if len(words) == 1 else shlex.join(words)


def _names(edit: FileEdit) -> list[str]:
    sources = [str(table_of(one).get("id")) for one in list_of(edit.tree.get("sources"))]
    return [*sources, *table_of(edit.tree.get(OURS))]


def _with_password(pasted: Pasted) -> Pasted:
    """Asks for the password that an address leaves out. Nobody is asked where there is nobody."""
    dsn = pasted.entry.get("dsn")
    if pasted.kind != "source" or not isinstance(dsn, str) or not sys.stdin.isatty():
        return pasted
    parsed = parse_dsn(dsn)
    scheme, _, rest = dsn.partition("://")
    user, at, place = rest.rpartition("@")
    if parsed.path is not None or parsed.password is not None or not at or ":" in user:
        return pasted
    from urllib.parse import quote

    password = read_value(f"Password of {user}: ")
    filled = f"{scheme}://{user}:{quote(password, safe='')}@{place}"
    return replace(pasted, entry={**pasted.entry, "dsn": filled})


def _with_named_secrets(flags: Flags, pasted: Pasted) -> dict[str, Any]:
    """The entry with names in place of its secrets, which are kept."""

    def keep(secret: PastedSecret) -> str:
        name = keep_new_secret(flags, secret.name, secret.value)
        say(f"Its secret is kept as secret:{name}.")
        return name

    entry, left = with_named_secrets(pasted.kind, pasted.name, pasted.entry, keep)
    for secret in left:
        say(f"A secret stays in {secret.loc[0]} of the file: a name of one cannot stand there.")
    return entry


def _show(probed: Probed, options: AddOptions) -> None:
    counter = TokenCounter()
    tokens = sum(counter.count(offer.definition.decode(errors="replace")) for offer in probed.tools)
    if options.as_json:
        scan = [
            {"tool": tool, "findings": [asdict(flaw) for flaw in flaws]}
            for tool, flaws in probed.scan.items()
        ]
        print_json(
            {
                "name": probed.name, "kind": probed.kind, "address": probed.address, "place": probed.place,
                "reachable": probed.reachable, "needs_login": probed.needs_login, "version": probed.version,
                "era": probed.era, "tools": [offer.public_name for offer in probed.tools], "tokens": tokens,
                "destructive": probed.destructive, "undeclared": probed.undeclared, "scan": scan,
                "findings": [{"level": one.severity, "text": one.text} for one in probed.findings],
            }
        )  # fmt: skip
        return
    mode = probed.mode and probed.mode.replace("_", "-")
    what = ", ".join(word for word in (probed.version, probed.era, probed.protocol, mode) if word)
    print_line(f"{probed.name}   {probed.address}{f'   {what}' if what else ''}")
    if probed.tools:
        print_line(
            f"  {counted(len(probed.tools), 'tool')}, {tokens:,} tokens; {probed.destructive} destructive, "
            f"{probed.undeclared} declare nothing{_scan_in_short(probed)}"
        )
    found = [(tool, flaw) for tool, flaws in probed.scan.items() for flaw in flaws]
    for tool, flaw in sorted(found, key=lambda one: not one[1].holds)[:_MAX_SHOWN]:
        print_line(f"  {'held' if flaw.holds else 'seen'}: {tool}: {flaw.words}: {flaw.excerpt}")
    if len(found) > _MAX_SHOWN:
        print_line(f"  and {len(found) - _MAX_SHOWN:,} findings more: --json shows them")
    for finding in probed.findings:
        text = finding.text if not finding.advice or finding.text.endswith(".") else f"{finding.text}."
        print_line(f"  {finding.severity}: {text} {finding.advice}".rstrip())


def _scan_in_short(probed: Probed) -> str:
    """Databases are not scanned: their tools are ours."""
    if probed.kind == "sql":
        return ""
    if not probed.scan:
        return "; scan: nothing found"
    held = sum(any(flaw.holds for flaw in flaws) for flaws in probed.scan.values())
    return f"; scan: {counted(len(probed.scan), 'tool')} with findings, {held} would be held"
