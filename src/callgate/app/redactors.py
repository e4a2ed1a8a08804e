"""What is taken out of rows, texts and documents, by the rules for all and each server's own."""

from collections.abc import Callable

from callgate.config.specs.config import Config, McpServerSpec, SourceSpec
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact_rows import RowRedactor


def row_redactor(config: Config) -> RowRedactor:
    """For the record."""
    return RowRedactor(redactor_of(config), config.record.max_body_bytes, server_redactors(config))


def redactor_of(config: Config) -> Redactor:
    return Redactor(config.record.redact_keys, config.record.redact_patterns)


def redact_all(config: Config) -> Callable[[str], str]:
    """For what may be of any server: whatever one of them knows as a secret is taken out."""
    redactors = all_redactors(config)

    def redact(text: str) -> str:
        for one in redactors:
            text = one.text(text)
        return text

    return redact


def all_redactors(config: Config) -> list[Redactor]:
    return [redactor_of(config), *server_redactors(config).values()]


def server_redactors(config: Config) -> dict[str, Redactor]:
    """Of the servers and sources that have rules of their own."""
    record = config.record
    specs: dict[str, McpServerSpec | SourceSpec] = {
        **config.mcp_servers,
        **{source.id: source for source in config.sources},
    }
    return {
        name: Redactor(
            (*record.redact_keys, *spec.redact_keys), (*record.redact_patterns, *spec.redact_patterns)
        )
        for name, spec in specs.items()
        if spec.redact_keys or spec.redact_patterns
    }
