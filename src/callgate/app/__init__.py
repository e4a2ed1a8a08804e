"""Wiring and running: `build` puts the parts together, `serve` and `stdio` run them.

Everything meets here and nowhere else. Must not hold logic of its own: what is decided is decided in a room.
"""
