"""Real MariaDB and PostgreSQL servers, and ClickHouse's engine, for the tests, private to one test run.

`fixtures.py` is what tests use, `database.py` what they get. A server is started when the first test asks for
it, from a copy of a data folder initialised once (`folders.py`), and ends with the run (`server.py`).
"""
