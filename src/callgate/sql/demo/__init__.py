"""The demo database: how it is made, and the rows in it."""
