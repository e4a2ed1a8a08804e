"""How a table of the file becomes a spec: what a key may hold, how its value is read, shown and described.

Owns the kinds of values. Must not know any table: `specs` are written with what is here.
"""
