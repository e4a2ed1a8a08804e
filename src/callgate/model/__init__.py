"""The vocabulary: one word, one meaning, in code, API, columns, page and docs.

Owns the nouns that travel (Exchange above all) and the error codes. Knows no library that does I/O,
no clock and no randomness of its own: time and ids are handed in or made by `identity`.
"""
