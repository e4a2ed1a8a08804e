"""MySQL and MariaDB: one dialect for both, because one driver speaks to both and a source may be either."""
