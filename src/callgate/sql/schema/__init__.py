"""What is in a database: its schemas, tables, columns, indexes and foreign keys, for resources and search.

    shapes     the answers, in the words of our resources (docs/sql.md)
    queries    which statement an engine answers each question with (`engines/<engine>/schema.py` fills it in)
    reader     asks a driver those statements, values bound; `rows` builds the shapes of their answers
    like       people's patterns for names
    markdown   the same shapes for people; `found_objects` those of a search

The statements are ours and trusted, so the guard is not asked; the engine's read-only session still is.
"""
