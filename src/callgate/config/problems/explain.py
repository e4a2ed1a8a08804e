"""pydantic's errors in our words: key path, what is wrong, what to write instead.

pydantic's own text repeats input values and never leaves this module. A type it reports that has no sentence
here is called "not valid", without the value.
"""

import re
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError

from callgate.config.draft import Draft
from callgate.config.problem import ConfigProblem, Loc, shown
from callgate.config.refusal import REFUSAL_TYPE
from callgate.config.specs.spec import known_keys
from callgate.model.near_miss import did_you_mean, nearest

_OPTION = re.compile(r"'([^']*)'")
_EXPECTED = (
    ("string", "a string is expected"),
    ("int", "a whole number is expected"),
    ("float", "a number is expected"),
    ("finite", "a number is expected"),
    ("bool", "true or false is expected"),
    ("tuple", "a list is expected"),
    ("list", "a list is expected"),
    ("dict", "a table is expected"),
    ("mapping", "a table is expected"),
    ("model", "a table is expected"),
)
_BOUNDS = (
    ("ge", "must be at least {}"),
    ("gt", "must be more than {}"),
    ("le", "must be at most {}"),
    ("lt", "must be less than {}"),
)


def problems_of(error: ValidationError, model: type[BaseModel], at: Loc, draft: Draft) -> list[ConfigProblem]:
    """The problems of one table at `at`, without those that follow from something already reported."""
    items = error.errors(include_url=False)
    unknown = [item["loc"] for item in items if item["type"] == "extra_forbidden"]
    misspelt = {(*loc[:-1], nearest(str(loc[-1]), known_keys(_model_at(model, loc[:-1])))) for loc in unknown}
    found: list[ConfigProblem] = []
    for item in items:
        loc = _within(draft.tree, at + item["loc"])
        # `typ` for `type` is one mistake: the unknown key says so, the missing one need not.
        if draft.is_broken(loc) or (item["type"] == "missing" and item["loc"] in misspelt):
            continue
        detail: dict[str, Any] = {**item.get("ctx", {}), "input": item["input"], "loc": loc}
        if loc in draft.substituted:
            detail["input"] = None  # what a variable or a file holds is not repeated
            if item["type"] == REFUSAL_TYPE:
                detail["message"] = detail["message"].replace(shown(item["input"]), "the value")
        message, hint = _explain(item["type"], detail, model, loc[len(at) :])
        problem = ConfigProblem(draft.path_of(loc), message, hint)
        if problem not in found:
            found.append(problem)
    return found


def _explain(kind: str, detail: dict[str, Any], model: type[BaseModel], inner: Loc) -> tuple[str, str]:
    if kind == REFUSAL_TYPE:
        return detail["message"], detail["hint"]
    if kind == "missing":
        return "this key is missing", _description(model, inner)
    if kind == "extra_forbidden":
        known = known_keys(_model_at(model, inner[:-1]))
        return "there is no such key", did_you_mean(
            str(inner[-1]), known
        ) or f"Known keys: {', '.join(known)}."
    if kind == "literal_error":
        options = _OPTION.findall(detail["expected"])
        value: object = detail["input"]
        hint = did_you_mean(value, options) if isinstance(value, str) else ""
        return f"{shown(value)} is not one of {', '.join(options)}", hint
    if kind == "string_too_short":
        return "this must not be empty", ""
    for bound, sentence in _BOUNDS:
        if bound in detail:
            return sentence.format(f"{detail[bound]:g}"), ""
    return next((words for prefix, words in _EXPECTED if kind.startswith(prefix)), "this is not valid"), ""


def _within(tree: Any, loc: Loc) -> Loc:
    """The part of the loc that exists in what was written: a plain token has no key `token`."""
    kept: list[str | int] = []
    for part in loc:
        if part == "[key]":  # pydantic's mark for "the key itself"
            break
        if isinstance(tree, dict):
            tree = cast("dict[Any, Any]", tree).get(part)
        elif isinstance(tree, list) and isinstance(part, int):
            tree = cast("list[Any]", tree)[part]
        else:
            break
        kept.append(part)
    return tuple(kept)


def _model_at(model: type[BaseModel], loc: Loc) -> type[BaseModel]:
    for part in loc:
        for name, info in model.model_fields.items():
            inner = _model_in(info.annotation) if part == (info.alias or name) else None
            if inner is not None:
                model = inner
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside `Mapping[str, Model]` or `tuple[Annotated[Model, …], ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _model_in(arg)) is not None), None)


def _description(model: type[BaseModel], inner: Loc) -> str:
    fields = _model_at(model, inner[:-1]).model_fields
    return next(
        (info.description or "" for name, info in fields.items() if (info.alias or name) == inner[-1]), ""
    )
