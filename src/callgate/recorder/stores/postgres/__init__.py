"""The record in PostgreSQL (extra `callgate[postgres]`): written, kept within its limits, and read.

    connection     one connection, and what is wrong with it in words
    loop_thread    the thread in which asyncpg runs
    schema         tables, views, the role of users' SQL
    migrations     the tables brought up to date, by exactly one
    leases         who does what only one should do
    upkeep         what one gateway does for all; sweep: open calls of those that died
    numbering      the numbers of the live stream
    partitions     a partition a day: made ahead, dropped whole
    write_batch    a batch as rows of COPY; one transaction, its batch row first; packed_calls: ordinary calls
    record_store   `ports.RecordStore` of all that
    reads          the connections that read, and their limits
    reader         `ports.RecordReader`: SQL in events, sessions, stats, writes; rows as a file, for
                   exports and excerpts
    queries        SQL of users

Nothing here needs a session of the database, so a pooler in transaction mode will do: everything happens
inside of transactions, with unnamed statements, without LISTEN and without session locks.
"""
