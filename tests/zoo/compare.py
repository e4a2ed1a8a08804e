"""What was seen directly against what was seen through the gateway. Pure: values in, differences out.

The direct way is gone twice. A step that answers differently the second time is not deterministic, and only
the shape of its answer is compared; every other step must be the same text.
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
    """Both as texts, scrubbed, and whole: an explanation must hold for all of it."""

    step: str
    direct: str
    through: str

    def excerpts(self) -> tuple[str, str]:
        """Both from shortly before the place where they part."""
        pairs = zip(self.direct, self.through, strict=False)
        at = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(self.direct), len(self.through)))
        begin = max(0, at - SHOWN // 3)
        return self.direct[begin : begin + SHOWN], self.through[begin : begin + SHOWN]


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
            found.append(Difference(step, first, ours))
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


def explained(
    name: str, way: str, difference: Difference, explanations: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """The sentences of `differences.toml` that explain it whole; none if something of it stays unexplained.

    One with `scrub` or `sorted` explains no more than what these take out of both texts, and several of them
    may be needed. Any other explains the step whose texts `direct` and `through` find something in.
    """
    because: list[str] = []
    direct, through = difference.direct, difference.through
    for each in sorted(
        explanations, key=lambda each: "sorted" in each
    ):  # scrubbing knows the texts as they are
        if not (
            any(fnmatchcase(name, of) for of in each["of"].split())
            and fnmatchcase(way, each.get("way", "*"))
            and fnmatchcase(difference.step, each["step"])
        ):
            continue
        if "scrub" not in each and "sorted" not in each:
            if re.search(each["direct"], difference.direct) and re.search(
                each["through"], difference.through
            ):
                return (each["because"],)
            continue
        if direct == through:
            break
        before = direct, through
        direct, through = (_without(text, each) for text in before)
        if (direct, through) != before:
            because.append(each["because"])
    return tuple(because) if direct == through else ()


def _without(text: str, explanation: Mapping[str, Any]) -> str:
    text = re.sub(explanation["scrub"], "", text) if "scrub" in explanation else text
    return (
        json.dumps(json.loads(text), ensure_ascii=False, sort_keys=True) if "sorted" in explanation else text
    )
