"""The operator's own tools: parameterised SQL, judged when it is loaded, bound by the driver at a call.

A refused one is a fault that names the rule; nothing is ever written into the text. Counterpart: `config`
reads `[[tools]]`, `app` hands them over as `ToolSettings`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from callgate.model import error_codes as codes
from callgate.model.errors import SetupError
from callgate.model.exchange import Hop
from callgate.model.verdict import Deny
from callgate.sql.guard.judge import judge
from callgate.sql.guard.judgement import Bound, Judgement
from callgate.sql.guard.policy import Policy
from callgate.sql.named_parameters import Template, read_templates
from callgate.sql.server.arguments import RESPONSE_FORMAT, Parameter, input_schema
from callgate.sql.server.statement_runner import JudgedRequest, StatementRunner
from callgate.sql.server.tool import annotations, for_reads, output_schema

BUILT_IN_NAMES = frozenset({"query", "explain", "search_objects"})
# The worst that a caller may send: a text longer than what the guard takes for short (guard.calls), with
# widths in it (guard.sizes), that names a secret; a number larger than any count.
_SAMPLE_TEXT = f"'%2147483647d{{:2147483647}} password {'x' * 300}'"
_SAMPLES = {"string": _SAMPLE_TEXT, "integer": "2147483647", "number": "2147483647.5", "boolean": "TRUE"}


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """One tool as the operator wants it."""

    name: str
    sql: str  # with :name where a parameter goes
    description: str = ""
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolFault:
    """Why a tool cannot be offered; `key` is the part of its table that must change."""

    key: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class PreparedTool:
    """Read and judged; nothing runs yet."""

    settings: ToolSettings
    templates: tuple[Template, ...]
    judgement: Judgement


def prepare_tool(settings: ToolSettings, policy: Policy) -> PreparedTool | ToolFault:
    if settings.name in BUILT_IN_NAMES:
        return ToolFault("name", f"every source has a tool {settings.name} already", "Choose another name.")
    types = {parameter.name: parameter.type for parameter in settings.parameters}
    if RESPONSE_FORMAT.name in types:
        return ToolFault(f"params.{RESPONSE_FORMAT.name}", "every tool has this parameter already")
    templates = read_templates(settings.sql, policy.dialect)
    used = {name for template in templates for name in template.names}
    if unknown := sorted(used - types.keys()):
        hint = "Declare it, or put a space after a colon that does not begin a parameter."
        return ToolFault("sql", f":{unknown[0]} is used in it, but there is no params.{unknown[0]}", hint)
    if unused := sorted(types.keys() - used):
        return ToolFault(f"params.{unused[0]}", f":{unused[0]} is not used in the sql")
    literals = {name: _SAMPLES[kind] for name, kind in types.items()}
    judgement = judge(";\n".join(template.with_samples(literals) for template in templates), policy)
    if isinstance(judgement.verdict, Deny):
        deny = judgement.verdict
        return ToolFault(
            "sql", f"the guard refuses it (rule {deny.rule}): {deny.reason}".rstrip("."), deny.hint
        )
    if len(judgement.statements) != len(templates):
        return ToolFault("sql", "its statements cannot be separated", "Leave out what is not needed.")
    return PreparedTool(settings, templates, judgement)


class CustomTool:
    def __init__(self, prepared: PreparedTool, runner: StatementRunner) -> None:
        self._prepared = prepared
        self._runner = runner
        self.name = prepared.settings.name
        self.parameters = (*prepared.settings.parameters, RESPONSE_FORMAT)

    def definition(self) -> dict[str, Any]:
        settings = self._prepared.settings
        policy = self._runner.policy
        writes = any(statement.is_write for statement in self._prepared.judgement.statements)
        title = settings.name.replace("_", " ").strip().capitalize()
        return {
            "name": self.name,
            "title": title,
            "description": settings.description or f"Runs on {policy.dialect.display_name}: {settings.sql}",
            "inputSchema": input_schema(self.parameters),
            "outputSchema": output_schema(),
            "annotations": annotations(policy if writes else for_reads(policy), title),
        }

    async def call(self, arguments: Mapping[str, Bound], hop: Hop) -> bytes:
        prepared = self._prepared
        placeholder = self._runner.driver.placeholder
        statements = tuple(
            replace(
                statement,
                text=template.with_placeholders(placeholder),
                parameters=tuple(arguments[name] for name in template.names),
            )
            for statement, template in zip(prepared.judgement.statements, prepared.templates, strict=True)
        )
        judgement = replace(prepared.judgement, statements=statements)
        request = JudgedRequest(prepared.settings.sql, judgement, str(arguments["response_format"]))
        return await self._runner.answer(request, hop)


def prepare_tools(tools: Sequence[ToolSettings], policy: Policy) -> tuple[PreparedTool, ...]:
    """Raises SetupError for the first that cannot be offered."""
    prepared: list[PreparedTool] = []
    for settings in tools:
        outcome = prepare_tool(settings, policy)
        if isinstance(outcome, ToolFault):
            raise SetupError(
                codes.SETUP_CONFIG,
                f"The tool {settings.name}: {outcome.key}: {outcome.message}.",
                hint=outcome.hint,
            )
        prepared.append(outcome)
    return tuple(prepared)
