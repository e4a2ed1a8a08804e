"""A scenario: what an attacker does, and what it may cost the gateway and the honest clients beside it."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from _gateway import Gateway


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that one scenario may cost. The time that the gateway needs to start is not counted."""

    cpu_s: float = 2.0  # of the gateway's process
    memory_mib: float = 96.0  # growth of the gateway's peak, and of the workers it starts
    wait_ms: float = 500.0  # the longest wait of an honest client

    def times(self, factor: float) -> "Bound":
        return Bound(self.cpu_s * factor, self.memory_mib * factor, self.wait_ms * factor)

    def broken_by(self, cpu_s: float, memory_mib: float, wait_ms: float) -> list[str]:
        return [
            f"{name}: {found:.1f} is more than {limit:g}"
            for name, found, limit in (
                ("CPU seconds", cpu_s, self.cpu_s),
                ("memory in MiB", memory_mib, self.memory_mib),
                ("a neighbour waited, in ms", wait_ms, self.wait_ms),
            )
            if found > limit
        ]


@dataclass
class Scene:
    """What an attack has at hand. `broken` collects what should have held and did not."""

    gateway: Gateway
    folder: Path
    is_short: bool
    served: Any = None  # the scenario's own server, if it runs one in the harness
    random: Random = field(default_factory=lambda: Random(13))
    broken: list[str] = field(default_factory=list[str])

    def many(self, full: int) -> int:
        """A tenth of it in the short form."""
        return max(1, full // 10) if self.is_short else full

    def expect(self, held: bool, sentence: str) -> None:
        if not held:
            self.broken.append(sentence)


Attack = Callable[[Scene], Awaitable[None]]
# A scenario's own server, from the gateway's folder and the scale (1, or a tenth in the short form): what the
# configuration says of it, and the server itself if it runs in the harness.
Upstream = Callable[[Path, float], AbstractAsyncContextManager[tuple[str, Any]]]


def no_upstream(folder: Path, scale: float) -> AbstractAsyncContextManager[tuple[str, Any]]:
    del folder, scale
    return nullcontext(("", None))


@dataclass(frozen=True, slots=True)
class Scenario:
    group: str
    name: str
    attack: Attack
    bound: Bound = Bound()
    upstream: Upstream = no_upstream
    descriptors: int | None = None  # as many as the gateway may open
    has_token: bool = True  # whether the gateway asks for one
    in_short: bool = False


class Group:
    """The scenarios of one module."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.scenarios: list[Scenario] = []

    def add(self, name: str, attack: Attack, bound: Bound | None = None, **more: Any) -> None:
        """`more`: the other members of a Scenario."""
        self.scenarios.append(Scenario(self.name, name, attack, bound or Bound(), **more))

    def scenario(self, name: str, bound: Bound | None = None, **more: Any) -> Callable[[Attack], Attack]:
        """The same as a decorator."""

        def register(attack: Attack) -> Attack:
            self.add(name, attack, bound, **more)
            return attack

        return register
