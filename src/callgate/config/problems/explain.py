"""The mistakes of a table in the words of the file: key path, what is wrong, what to write instead."""

from typing import Any, cast

from callgate.config.draft import Draft
from callgate.config.problem import ConfigProblem, Loc, shown
from callgate.config.reading.mistakes import InvalidSpecError, Mistake
from callgate.model.near_miss import did_you_mean, nearest


def problems_of(error: InvalidSpecError, at: Loc, draft: Draft) -> list[ConfigProblem]:
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
