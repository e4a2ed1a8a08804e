"""The one path: open the exchange, route it, judge it, ask the upstream, settle it.

Owns the catalog, public names, sessions and the gateway's own answers. Must not know HTTP, processes or SQL:
clients come in through `edge`, and everything behind us is an `Upstream`.

    lists           what upstreams offer, asked for, named and kept
    search          finding a tool by words
"""
