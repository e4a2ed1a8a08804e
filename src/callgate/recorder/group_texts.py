"""Everything that a group of exchanges says, to be looked through for secrets at once.

Whatever `build_rows` writes of what others chose must be in here: what is not looked at is taken for clean.
"""

from callgate.model.exchange import Exchange, Hop

# Names of clients, methods, tools and versions are few and come with every call; a longer text is no name.
_MAX_NAME_CHARS = 100
# A look costs as much as copying this much; what is longer is looked at where it lies.
_JOINED_BYTES = 4096


class GroupTexts:
    def __init__(self, known: set[str]) -> None:
        """`known`: names that were found clean before."""
        self._known = known
        self._raws: list[bytes] = []
        self._texts: list[str] = []
        self.names: list[str] = []

    def add(self, exchange: Exchange) -> None:
        arrival, settlement = exchange.arrival, exchange.settlement
        reply = settlement.reply if settlement is not None else None
        raws = self._raws
        raws.append(arrival.params)
        if arrival.rpc_id is not None and arrival.rpc_id[:1] == b'"':
            raws.append(arrival.rpc_id)
        if reply:
            raws.append(reply)
        if exchange.annotations:
            raws.append(exchange.annotations)
        self._add_name(arrival.client)
        self._add_name(arrival.method)
        self._add_name(exchange.tool_name)
        if settlement is not None and settlement.error is not None:
            self._texts.append(settlement.error)
        for hop in exchange.hops:
            self._add_hop(hop, arrival.params, reply)

    def pieces(self) -> list[bytes]:
        """Raises UnicodeEncodeError."""
        raws = self._raws
        if self._texts:
            raws.append("\n".join(self._texts).encode())
        long = [raw for raw in raws if len(raw) > _JOINED_BYTES]
        return [b"\n".join([raw for raw in raws if len(raw) <= _JOINED_BYTES] if long else raws), *long]

    def _add_hop(self, hop: Hop, params: bytes, reply: bytes | None) -> None:
        if hop.params is not params:
            self._raws.append(hop.params)
        if hop.result is not None and hop.result is not reply:
            self._raws.append(hop.result)
        self._add_name(hop.server_version)
        self._add_name(hop.server_protocol)
        if hop.error is not None:
            self._texts.append(hop.error)
        if hop.facts is not None:
            self._texts += (hop.facts.sql, *hop.facts.tables)

    def _add_name(self, name: str | None) -> None:
        if name is None or name in self._known:
            return
        self._texts.append(name)
        if len(name) <= _MAX_NAME_CHARS:
            self.names.append(name)
