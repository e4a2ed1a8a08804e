"""The lists of functions, operators and types against the system catalog of the engine at hand."""

from databases.database import Database

from callgate.sql.engines.postgres.dialect import functions, keywords, operators
from callgate.sql.engines.postgres.dialect.refused_functions import FORBIDDEN, REFUSED

# Called by the engine alone: triggers, handlers, and whatever takes or gives C's own values.
_CALLABLE = """
SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND NOT EXISTS (
    SELECT FROM unnest(proargtypes) a WHERE a IN ('internal'::regtype, 'cstring'::regtype))
AND prorettype NOT IN ('internal'::regtype, 'cstring'::regtype, 'trigger'::regtype, 'event_trigger'::regtype)
"""


def names(postgres: Database, query: str) -> set[str]:
    return set(postgres.run(query).splitlines())


def test_every_volatile_function_of_the_engine_was_looked_at(postgres: Database) -> None:
    volatile = names(postgres, f"{_CALLABLE} AND provolatile = 'v'")
    assert len(volatile) > 150
    assert volatile - functions.ALLOWED - REFUSED == set()


def test_no_function_is_both_allowed_and_refused() -> None:
    assert not functions.ALLOWED & REFUSED
    assert FORBIDDEN < REFUSED


def test_what_is_volatile_and_allowed_is_known_by_name(postgres: Database) -> None:
    volatile = names(postgres, f"{_CALLABLE} AND provolatile = 'v'") & functions.ALLOWED
    reads_the_clock = {"clock_timestamp", "timeofday", "random", "gen_random_uuid", "current_query"}
    reads_the_server = {name for name in volatile if name.startswith("pg_")}
    # Of newer servers.
    draws = {"array_sample", "array_shuffle", "random_normal", "uuidv4", "uuidv7"}
    assert volatile - draws == reads_the_clock | reads_the_server | functions.SEQUENCES
    assert not {name for name in reads_the_server if "reset" in name or "_ls_" in name or "file" in name}


def test_allowed_functions_that_the_engine_has_are_spelled_as_it_spells_them(postgres: Database) -> None:
    """A misspelled name allows nothing and helps nobody."""
    known = names(postgres, "SELECT proname FROM pg_proc")
    known.add("pg_timezone_abbrevs")  # until 17
    ours = functions.ALLOWED - functions.EXTENSIONS - functions.EXTENSION_TYPES
    ours = ours - functions.OF_DRIVERS - functions.OF_MERGE
    newer = {name for name in ours - known if not name.startswith(("json_", "jsonb_"))}
    assert newer <= {
        *("pg_input_is_valid", "pg_input_error_info"),
        *("any_value", "array_reverse", "array_sample", "array_shuffle", "array_sort", "casefold", "crc32"),
        *("crc32c", "date_add", "date_subtract", "erf", "erfc", "gamma", "lgamma", "random_normal", "to_bin"),
        *("to_oct", "uuid_extract_timestamp", "uuid_extract_version", "uuidv4", "uuidv7", "xmltext"),
        *("unicode_assigned", "unicode_version", "icu_unicode_version", "pg_get_acl", "pg_basetype"),
        *("to_regtypemod", "has_largeobject_privilege", "system_user"),
        *(
            "bytea",
            "int2vector",
            "jsonpath",
            "oidvector",
            "refcursor",
            "tid",
            "xid8",
            "aclitem",
            "json",
            "jsonb",
        ),
        *functions.TYPES,
    }


def test_every_operator_of_the_engine_is_known(postgres: Database) -> None:
    assert names(postgres, "SELECT DISTINCT oprname FROM pg_operator") <= operators.BUILT_IN


def test_the_types_of_the_engine_are_known(postgres: Database) -> None:
    theirs = names(
        postgres,
        """SELECT typname FROM pg_type
           WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm')
           AND typcategory <> 'Z'
           AND typname !~ '^(_|pg_(ndistinct|dependencies|mcv_list|brin|node_tree|ddl))'""",
    )
    assert theirs - functions.TYPES <= {"gtsvector"}


def test_the_reserved_words_are_the_engines(postgres: Database) -> None:
    for code, ours in (
        ("R", keywords.RESERVED),
        ("T", keywords.RESERVED_OR_FUNCTION),
        ("C", keywords.NEVER_FUNCTION),
    ):
        theirs = names(postgres, f"SELECT word FROM pg_get_keywords() WHERE catcode = '{code}'")
        # From 17 on JSON(…) is a constructor; before, it may be somebody's function.
        assert theirs - {"json"} <= ours
        assert {word for word in ours - theirs if not word.startswith(("json", "merge", "system"))} == set()


def test_every_hidden_table_is_one_of_the_engines(postgres: Database) -> None:
    from callgate.sql.engines.postgres.dialect.dialect import POSTGRES

    theirs = names(postgres, "SELECT relname FROM pg_class")
    assert POSTGRES.vocabulary.hidden_tables <= theirs
