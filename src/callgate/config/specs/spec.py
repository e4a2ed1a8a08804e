"""What every spec is: a frozen value the operator wrote, with no key we do not know.

A spec remembers which of its texts were filled in from a variable or a file, and how they were written: what
a variable holds may be a secret wherever it stands, so it is the written form that a dump shows.
"""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, PrivateAttr, SerializationInfo

# What `show.fingerprint` asks for: the values that count, to be hashed and never shown.
EFFECTIVE = {"effective": True}


class Spec(BaseModel):
    # hide_input_in_errors: should a ValidationError ever escape, its text must not carry a password.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    _written: dict[tuple[str | int, ...], str] = PrivateAttr(default_factory=dict[tuple[str | int, ...], str])

    def remember_written(self, written: Mapping[tuple[str | int, ...], str]) -> None:
        """For `parse`, once: frozen means that the operator's values do not change."""
        self._written.update(written)

    def as_written(self, info: SerializationInfo, *loc: str | int) -> str | None:
        """How the text at `loc` was written, when it was filled in and may be shown only so."""
        return None if info.context == EFFECTIVE else self._written.get(loc)

    def written_of(self, *loc: str | int) -> str | None:
        """How the text at `loc` was written, when it was filled in."""
        return self._written.get(loc)


def known_keys(model: type[BaseModel]) -> list[str]:
    """The keys as they are written in the file."""
    return [info.alias or name for name, info in model.model_fields.items()]
