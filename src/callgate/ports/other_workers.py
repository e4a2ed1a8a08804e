"""Api asks the other workers of this machine how they are. One process without workers has none of this."""

from collections.abc import Mapping
from typing import Protocol

from callgate.model.identity import Principal


class OtherWorkers(Protocol):
    async def ask(self, path: str, principal: Principal | None) -> Mapping[int, bytes | None]:
        """What each of them answers to a GET, by its number. None: it did not answer in time."""
        ...
