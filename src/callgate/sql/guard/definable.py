"""What an engine lets be defined with allow_ddl, told by the kind of thing behind the verb. Pure."""

from dataclasses import dataclass

from callgate.sql.guard.dialect import Fault, Tokens


@dataclass(frozen=True, slots=True)
class Definable:
    created: frozenset[str]
    altered: frozenset[str]
    allowed: str  # in words, for the refusal
    own_tool: str  # where destructive operations are to be done instead

    def check(self, tokens: Tokens) -> Fault | None:
        verb = tokens[0].word
        kinds = [token.word for token in tokens[1:4] if token.word != "UNIQUE"]
        kind = kinds[0] if kinds else ""
        if kind not in self.created or (verb == "ALTER" and kind not in self.altered):
            return Fault(
                "ddl_kind",
                f"{verb} {kind}".strip() + " is never allowed, not even with allow_ddl.",
                f"{self.allowed} are.",
                is_forbidden=True,
            )
        if verb == "ALTER" and any(token.word == "DROP" for token in tokens):
            return Fault(
                "never",
                "DROP operations are dangerous and blocked even in WRITE mode.",
                f"Use {self.own_tool} for destructive operations.",
                is_forbidden=True,
            )
        return None
