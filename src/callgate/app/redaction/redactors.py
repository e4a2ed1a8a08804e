"""What is taken out of rows, texts, documents and log lines: by the rules for all, by each server's own, and
the values that the configuration holds in secret. Those are taken out of what any server said."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from callgate.app.redaction.configured_secrets import configured_secrets
from callgate.config.specs.config import Config, McpServerSpec, SourceSpec
from callgate.recorder.redact.known_values import KnownValues
from callgate.recorder.redact.redact import Redactor


@dataclass(frozen=True, slots=True)
class Redactors:
    general: Redactor
    of_server: Mapping[str, Redactor]  # of the servers and sources that have rules of their own
    known: KnownValues

    def text(self, text: str) -> str:
        """For what may be of any server: whatever one of them knows as a secret is taken out."""
        for one in (self.general, *self.of_server.values()):
            text = one.text(text)
        return text

    def document(self, raw: bytes) -> bytes:
        """The same for JSON."""
        for one in (self.general, *self.of_server.values()):
            raw = one.body(raw) or raw
        return raw


def redactors_of(config: Config, secrets: Iterable[str] | None = None) -> Redactors:
    """`secrets`: what is known to be one, if that is more than the configuration holds."""
    known = KnownValues(secrets_of(config) if secrets is None else secrets)
    record = config.record
    specs: dict[str, McpServerSpec | SourceSpec] = {
        **config.mcp_servers,
        **{source.id: source for source in config.sources},
    }
    of_server = {
        name: Redactor(
            (*record.redact_keys, *spec.redact_keys), (*record.redact_patterns, *spec.redact_patterns), known
        )
        for name, spec in specs.items()
        if spec.redact_keys or spec.redact_patterns
    }
    return Redactors(redactor_of(config, known), of_server, known)


def redactor_of(config: Config, known: KnownValues | None = None) -> Redactor:
    return Redactor(config.record.redact_keys, config.record.redact_patterns, known)


def secrets_of(config: Config) -> frozenset[str]:
    return configured_secrets(config, redactor_of(config))


def password_secrets(config: Config, password: str) -> frozenset[str]:
    """What counts of a password that is not in the configuration itself."""
    return configured_secrets(config, redactor_of(config), password)


class LogWithoutSecrets(logging.Filter):
    """On every handler of the log, until it is closed."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        super().__init__()
        self._hide = hide
        self._handlers = list(logging.getLogger().handlers)
        for handler in self._handlers:
            handler.addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            said = record.getMessage()
        except Exception:  # noqa: BLE001 - of a library: the handler would show its values
            said = record.msg = "A line of the log could not be written"
            record.args = ()
        if (told := self._hide(said)) is not said:
            record.msg, record.args = told, ()
        if record.exc_info:
            record.exc_text = self._hide(logging.Formatter().formatException(record.exc_info))
        return True

    def close(self) -> None:
        for handler in self._handlers:
            handler.removeFilter(self)


def redact_all(config: Config) -> Callable[[str], str]:
    return redactors_of(config).text
