"""A draft's tables, each made into its spec by itself, so that one table's mistakes do not hide another's."""

from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from callgate.config.draft import Draft
from callgate.config.problem import ConfigProblem, Loc, key_path, shown
from callgate.config.reading.mistakes import InvalidSpecError, Mistake
from callgate.config.specs.config import (
    Config,
    McpServerSpec,
    OtelSpec,
    PolicySpec,
    PrincipalSpec,
    RecordSpec,
    ReplicasSpec,
    ServerSpec,
    SourceSpec,
    Spec,
    ToolSpec,
)
from callgate.config.specs.spec import known_keys
from callgate.model.near_miss import did_you_mean, nearest

_SpecT = TypeVar("_SpecT", bound=Spec)


@dataclass(slots=True)
class ParsedConfig:
    """What could be parsed; complete only when there are no problems. Servers by the names in the file."""

    server: ServerSpec = field(default_factory=ServerSpec)
    sources: list[SourceSpec] = field(default_factory=list[SourceSpec])
    tools: list[ToolSpec] = field(default_factory=list[ToolSpec])
    mcp_servers: dict[str, McpServerSpec] = field(default_factory=dict[str, McpServerSpec])
    principals: dict[str, PrincipalSpec] = field(default_factory=dict[str, PrincipalSpec])
    record: RecordSpec = field(default_factory=RecordSpec)
    policy: PolicySpec = field(default_factory=PolicySpec)
    otel: OtelSpec = field(default_factory=OtelSpec)
    replicas: ReplicasSpec = field(default_factory=ReplicasSpec)
    problems: list[ConfigProblem] = field(default_factory=list[ConfigProblem])


def parse_draft(draft: Draft, *, needs_version: bool) -> ParsedConfig:
    parsed = ParsedConfig()
    if needs_version:
        parsed.problems += _check_version(draft)
    parsed.problems += _check_top_keys(draft)
    parsed.server = _one(ServerSpec, draft, ("server",), parsed) or parsed.server
    parsed.record = _one(RecordSpec, draft, ("record",), parsed) or parsed.record
    parsed.policy = _one(PolicySpec, draft, ("policy",), parsed) or parsed.policy
    parsed.otel = _one(OtelSpec, draft, ("otel",), parsed) or parsed.otel
    parsed.replicas = _one(ReplicasSpec, draft, ("replicas",), parsed) or parsed.replicas
    for source in _each(SourceSpec, draft, "sources", parsed):
        parsed.sources.append(source.anchored_at(draft.folder))
    parsed.tools += _each(ToolSpec, draft, "tools", parsed)
    parsed.mcp_servers |= _named(McpServerSpec, draft, "mcpServers", parsed)
    parsed.principals |= _named(PrincipalSpec, draft, "principals", parsed)
    return parsed


def _check_version(draft: Draft) -> list[ConfigProblem]:
    if "version" not in draft.tree:
        return [ConfigProblem("version", "this key is missing", "Write version = 1 at the top of the file.")]
    version = draft.tree["version"]
    # `is`: True == 1 in Python, and 1.0 too.
    if draft.is_broken(("version",)) or (type(version) is int and version == 1):
        return []
    return [ConfigProblem("version", "this version knows only format 1", "Write version = 1.")]


def _check_top_keys(draft: Draft) -> list[ConfigProblem]:
    known = known_keys(Config)
    return [
        ConfigProblem(
            key_path((key,)),
            "there is no such key",
            did_you_mean(key, known) or f"Known: {', '.join(known)}.",
        )
        for key in draft.tree
        if key not in known
    ]


def _one(spec: type[_SpecT], draft: Draft, loc: Loc, parsed: ParsedConfig) -> _SpecT | None:
    raw: Any = draft.tree
    for part in loc:
        raw = raw[part] if isinstance(part, int) else raw.get(part, {})
    if not isinstance(raw, dict):
        parsed.problems.append(ConfigProblem(draft.path_of(loc), "a table is expected"))
        return None
    try:
        made = spec.read(cast("dict[str, Any]", raw))
    except InvalidSpecError as error:
        parsed.problems += _problems_of(error, loc, draft)
        return None
    made.remember_written(draft.written_in(loc), draft.filled_in_within(loc))
    return made


def _each(spec: type[_SpecT], draft: Draft, name: str, parsed: ParsedConfig) -> list[_SpecT]:
    raw = draft.tree.get(name, [])
    if not isinstance(raw, list):
        parsed.problems.append(
            ConfigProblem(name, "a list of tables is expected", f"Write [[{name}]], twice bracketed.")
        )
        return []
    specs = [_one(spec, draft, (name, at), parsed) for at in range(len(cast("list[Any]", raw)))]
    return [found for found in specs if found is not None]


def _named(spec: type[_SpecT], draft: Draft, name: str, parsed: ParsedConfig) -> dict[str, _SpecT]:
    raw = draft.tree.get(name, {})
    if not isinstance(raw, dict):
        parsed.problems.append(ConfigProblem(name, "a table is expected", f"Write [{name}.<name>]."))
        return {}
    found = {one: _one(spec, draft, (name, one), parsed) for one in cast("dict[str, Any]", raw)}
    return {one: made for one, made in found.items() if made is not None}


def _problems_of(error: InvalidSpecError, at: Loc, draft: Draft) -> list[ConfigProblem]:
    """The problems of one table at `at`, without those that follow from something already reported."""
    unknown = [one for one in error.mistakes if one.kind == "unknown"]
    misspelt = {(*one.at[:-1], nearest(str(one.at[-1]), one.words)) for one in unknown}
    found: list[ConfigProblem] = []
    for mistake in error.mistakes:
        loc = _within(draft.tree, at + mistake.at)
        # `typ` for `type` is one mistake: the unknown key says so, the missing one need not.
        if draft.is_broken(loc) or (mistake.kind == "missing" and mistake.at in misspelt):
            continue
        problem = ConfigProblem(draft.path_of(loc), *_explain(mistake, is_filled_in=loc in draft.substituted))
        if problem not in found:
            found.append(problem)
    return found


def _explain(mistake: Mistake, *, is_filled_in: bool) -> tuple[str, str]:
    """What a variable or a file holds is not repeated."""
    message, hint = mistake.message, mistake.hint
    if is_filled_in and mistake.kind in ("refused", "choice"):
        message = message.replace(shown(mistake.value), "the value")
    if mistake.kind == "unknown":
        hint = did_you_mean(str(mistake.at[-1]), mistake.words) or f"Known keys: {', '.join(mistake.words)}."
    elif mistake.kind == "choice" and isinstance(mistake.value, str) and not is_filled_in:
        hint = did_you_mean(mistake.value, mistake.words)
    return message, hint


def _within(tree: Any, loc: Loc) -> Loc:
    """The part of the loc that exists in what was written: a plain token has no key `token`."""
    kept: list[str | int] = []
    for part in loc:
        if isinstance(tree, dict):
            tree = cast("dict[Any, Any]", tree).get(part)
        elif isinstance(tree, list) and isinstance(part, int):
            tree = cast("list[Any]", tree)[part]
        else:
            break
        kept.append(part)
    return tuple(kept)
