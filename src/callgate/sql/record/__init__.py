"""The record as a source (`[record] offer`): an agent queries what it did itself, and nothing else.

    source    one SQL server for each principal, all under one name
    driver    each call on an excerpt of the record, which holds that principal's rows and is thrown away
    queries   SQL of users over the whole record (`ports.RecordQueries`), in a process of its own

Must not know how the record is kept: excerpts come from `ports.RecordExcerpts`.
"""
