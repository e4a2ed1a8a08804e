"""What some replicas have otherwise than the others, and what to do about it. Pure.

Whoever is in the minority differs; of two alike in number, the younger. So all replicas name the same ones.
One that has just started is not compared: during a deploy two versions are there side by side.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from callgate.ports.fleet import Difference

SETTLED_S = 60.0
MAX_OFFSET_S = 1.0
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Compared:
    gateway: str
    version: str
    fingerprint: str  # of its configuration
    tokens: str  # a digest of which bearer token is which principal; empty: not told
    age_s: float


def differences(replicas: Sequence[Compared]) -> dict[str, tuple[Difference, ...]]:
    """Of those that differ."""
    settled = sorted((one for one in replicas if one.age_s >= SETTLED_S), key=lambda one: -one.age_s)
    found: dict[str, tuple[Difference, ...]] = {}

    def note(
        difference: Difference, among: Sequence[Compared], value: Callable[[Compared], Hashable]
    ) -> None:
        counted = Counter(map(value, among))  # in order of age, and so are those with the same count
        usual = counted.most_common(1)
        for one in among:
            if value(one) != usual[0][0]:
                found[one.gateway] = (*found.get(one.gateway, ()), difference)

    # A version has keys that another does not have: their configurations are alike only among themselves.
    for version in {one.version for one in settled}:
        note("configuration", [one for one in settled if one.version == version], lambda one: one.fingerprint)
    note("version", settled, lambda one: one.version)
    note("tokens", [one for one in settled if one.tokens], lambda one: one.tokens)
    return found


def problems_of(
    differs: Mapping[str, Sequence[Difference]], offsets_s: Mapping[str, float | None]
) -> list[str]:
    """In words that say what to do. Two versions side by side are no problem: they are only shown."""
    problems: list[str] = []
    if named := [name for name, what in differs.items() if "configuration" in what]:
        problems.append(
            f"{_names(named)} another configuration than the other replicas of the same version. "
            "Give all replicas the same file, and start those that differ again"
        )
    if named := [name for name, what in differs.items() if "tokens" in what]:
        problems.append(
            f"{_names(named)} other bearer tokens, or other principals for them, than the other replicas: "
            "sessions would not be found. Give all replicas the same [server] tokens, in the same order"
        )
    for name, offset_s in offsets_s.items():
        if offset_s is not None and abs(offset_s) > MAX_OFFSET_S:
            problems.append(
                f"The clock of replica {name} is {in_words(offset_s)} the database's. "
                "Set the clocks of all machines by NTP"
            )
    return problems


def in_words(offset_s: float) -> str:
    return f"{abs(offset_s):.1f} s {'ahead of' if offset_s > 0 else 'behind'}"


def _names(gateways: Sequence[str]) -> str:
    if len(gateways) == 1:
        return f"Replica {gateways[0]} has"
    more = f" and {len(gateways) - _MOST_NAMED} more" if len(gateways) > _MOST_NAMED else ""
    return f"Replicas {', '.join(gateways[:_MOST_NAMED])}{more} have"
