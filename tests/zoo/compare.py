"""What was seen directly against what was seen through the gateway. Pure: values in, differences out.

The direct way is gone twice. A step that answers differently the second time is not deterministic, and only the shape
of its answer is compared; every other step must be the same text.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

SHOWN = 160


@dataclass(frozen=True)
class Difference:
    step: str
    direct: str
    through: str


@dataclass(frozen=True)
class Comparison:
    same: int
    """Steps whose text was the same."""
    alike: int
    """Steps that are not deterministic, and had the same shape."""
    differences: tuple[Difference, ...]


def compare(
    direct: Mapping[str, Any],
    again: Mapping[str, Any],
    through: Mapping[str, Any],
    scrub: Sequence[str] = (),
) -> Comparison:
    same = alike = 0
    found: list[Difference] = []
    for step in [*direct, *(step for step in through if step not in direct)]:
        first, second, ours = (_text(each.get(step, "not tried"), scrub) for each in (direct, again, through))
        if first == ours:
            same += 1
        elif first != second and _shape(direct.get(step)) == _shape(through.get(step)):
            alike += 1
        else:
            found.append(Difference(step, *_excerpts(first, ours)))
    return Comparison(same, alike, tuple(found))


def _text(value: Any, scrub: Sequence[str]) -> str:
    text = json.dumps(value, ensure_ascii=False)
    for pattern in scrub:
        text = re.sub(pattern, "…", text)
    return text


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_shape(each) for each in value]
    return type(value).__name__


def _excerpts(first: str, second: str) -> tuple[str, str]:
    """Both from shortly before the place where they part."""
    at = next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
    begin = max(0, at - SHOWN // 3)
    return first[begin : begin + SHOWN], second[begin : begin + SHOWN]


def explained(name: str, way: str, difference: Difference, explanations: Sequence[Mapping[str, str]]) -> str | None:
    """The sentence of `differences.toml` that speaks of this one."""
    for each in explanations:
        if (
            fnmatchcase(name, each["of"])
            and fnmatchcase(way, each.get("way", "*"))
            and fnmatchcase(difference.step, each["step"])
            and re.search(each.get("direct", ""), difference.direct)
            and re.search(each.get("through", ""), difference.through)
        ):
            return each["because"]
    return None
