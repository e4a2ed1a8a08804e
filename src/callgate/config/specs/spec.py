"""What every spec is: a frozen value the operator wrote, with no key we do not know.

A spec remembers which of its texts were filled in from a variable or a file, and how they were written: what
a variable holds may be a secret wherever it stands, so it is the written form that a dump shows.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, ClassVar, Self, cast, dataclass_transform, get_type_hints

from callgate.config.problem import Loc
from callgate.config.reading.kind import Found, KeyTable, Kind, Schema
from callgate.config.reading.kinds import kind_of
from callgate.config.reading.markers import NOTHING, WrittenKey, spec_key
from callgate.config.reading.mistakes import INVALID, InvalidSpecError, Mistake, RefusedValueError
from callgate.config.secret import FilledIn


@dataclass(frozen=True, slots=True)
class SpecKey:
    name: str  # of the attribute
    key: str  # in the file
    kind: Kind
    written: WrittenKey

    @property
    def is_required(self) -> bool:
        return self.written.default is NOTHING and self.written.make_default is None

    def default(self) -> Any:
        make = self.written.make_default
        return self.written.default if make is None else make()


def shows(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method of a spec that says how this key is shown: it gets the value, and whether the values that
    count are asked for (`shown`)."""

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        method.__dict__["shows"] = name
        return method

    return mark


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(spec_key,))
class Spec(KeyTable):
    spec_keys: ClassVar[Mapping[str, SpecKey]] = {}  # by the attribute's name
    _by_key: ClassVar[Mapping[str, SpecKey]] = {}
    _shows: ClassVar[Mapping[str, str]] = {}  # the methods that do
    _written: dict[Loc, str]
    _filled_in: tuple[FilledIn, ...]
    _given: frozenset[str]

    def __init_subclass__(cls) -> None:
        keys = dict(cls.spec_keys)
        for name, annotation in get_type_hints(cls, include_extras=True).items():
            written = cls.__dict__.get(name)
            if isinstance(written, WrittenKey):
                keys[name] = SpecKey(
                    name, written.alias or name, kind_of(annotation, written.bounds), written
                )
                delattr(cls, name)
        cls.spec_keys = keys
        cls._by_key = {one.key: one for one in keys.values()}
        marked = {method.shows: name for name, method in cls.__dict__.items() if hasattr(method, "shows")}
        cls._shows = {**cls._shows, **marked}

    def __init__(self, /, **table: Any) -> None:
        found: Found = []
        self._fill(table, (), found)
        if found:
            raise InvalidSpecError(found)

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Self:
        """Raises InvalidSpecError."""
        found: Found = []
        made = cls.read_table(table, (), found)
        if found:
            raise InvalidSpecError(found)
        return made

    @classmethod
    def read_table(cls, table: Mapping[str, Any], at: Loc, found: Found) -> Any:
        made = cls.__new__(cls)
        before = len(found)
        made._fill(table, at, found)  # noqa: SLF001 - our own
        return made if len(found) == before else INVALID

    def _fill(self, table: Mapping[str, Any], at: Loc, found: Found) -> None:
        before = len(found)
        values = vars(self)
        values["_written"] = {}
        values["_filled_in"] = ()
        values["_given"] = frozenset(table)
        for name, one in self.spec_keys.items():
            if one.key in table:
                values[name] = one.kind.read(table[one.key], (*at, one.key), found)
            elif one.is_required:
                found.append(
                    Mistake((*at, one.key), "missing", "this key is missing", one.written.description)
                )
            else:
                values[name] = one.default()
        if len(table) > len(self._by_key) or not table.keys() <= self._by_key.keys():
            known = tuple(self._by_key)
            unknown = (key for key in table if key not in self._by_key)
            found += [Mistake((*at, key), "unknown", "there is no such key", words=known) for key in unknown]
        if len(found) == before:
            try:
                self.check()
            except RefusedValueError as refused:
                found.append(Mistake(at, "refused", refused.message, refused.hint))

    def check(self) -> None:
        """For what several keys say together; raises a refusal."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self._compared() == cast("Spec", other)._compared()

    def __hash__(self) -> int:
        return hash((type(self), *self._values().values()))

    def __repr__(self) -> str:
        shown = (
            f"{name}={value!r}"
            for name, value in self._values().items()
            if self.spec_keys[name].written.is_shown_in_repr
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def _values(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.spec_keys}

    def _compared(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_given"}

    def with_values(self, **values: Any) -> Self:
        """A copy with these, by the names of the attributes. They are not checked."""
        made = copy(self)
        vars(made).update(values, _given=self._given | {self.spec_keys[name].key for name in values})
        return made

    def shown(self, is_effective: bool = False) -> dict[str, Any]:
        """As the file would say it: its keys, durations and sizes as text, secrets masked; what is unset is
        left out. `is_effective`: the values that count instead of how they were written. Those are only to be
        hashed, since a variable may hold a secret."""
        shown: dict[str, Any] = {}
        for name, one in self.spec_keys.items():
            value = vars(self)[name]
            method = self._shows.get(name)
            if method is not None:
                told = getattr(self, method)(value, is_effective)
            else:
                told = one.kind.show(value, is_effective)
            if told is not None:
                shown[one.key] = told
        return shown

    @classmethod
    def table_schema(cls, named: dict[str, Schema]) -> Schema:
        """JSON Schema, for editors. Defaults are as they are written ("30d"), not as they are held."""
        properties: dict[str, Schema] = {}
        for one in cls.spec_keys.values():
            told: Schema = {"description": one.written.description, **one.kind.schema(named)}
            if one.written.default not in (NOTHING, None):
                told["default"] = one.kind.show(one.written.default, False)
            properties[one.key] = dict(sorted(told.items()))
        schema: Schema = {"additionalProperties": False, "properties": properties, "type": "object"}
        if required := [one.key for one in cls.spec_keys.values() if one.is_required]:
            schema["required"] = required
        if cls.__doc__:
            schema["description"] = cleandoc(cls.__doc__)
        return dict(sorted(schema.items()))

    def remember_written(self, written: Mapping[Loc, str], filled_in: Iterable[FilledIn]) -> None:
        """For `parse`, once: frozen means that the operator's values do not change."""
        self._written.update(written)
        vars(self)["_filled_in"] = tuple(filled_in)

    @property
    def filled_in(self) -> tuple[FilledIn, ...]:
        """What variables, files and their kin filled in anywhere in it."""
        return self._filled_in

    def as_written(self, is_effective: bool, *loc: str | int) -> str | None:
        """How the text at `loc` was written, when it was filled in and may be shown only so."""
        return None if is_effective else self._written.get(loc)

    def written_of(self, *loc: str | int) -> str | None:
        """How the text at `loc` was written, when it was filled in."""
        return self._written.get(loc)

    def is_given(self, key: str) -> bool:
        """Whether the key was written, and is no default."""
        return key in self._given


def known_keys(spec: type[Spec]) -> list[str]:
    """The keys as they are written in the file."""
    return [one.key for one in spec.spec_keys.values()]
