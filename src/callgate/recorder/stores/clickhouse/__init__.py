"""The record in ClickHouse: written, kept within its limits, and read. Over HTTP, without a driver.

connection     one connection, values as literals, and what is wrong in words
schema         the one wide table, and the four views over it
insert_rows    a batch as the bytes of one INSERT
intents        those bytes on our own disk, until their rows were counted
record_store   `ports.RecordStore` of all that
sweep, upkeep  what dead writers left open; days and bodies that go
reads          the connections that read, and their limits
reader         `ports.RecordReader`: SQL in events, sessions, stats, writes
excerpts       a principal's rows as a DuckDB file
queries        SQL of users
"""
