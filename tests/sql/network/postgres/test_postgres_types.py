"""Every kind of PostgreSQL type, shown as the server itself shows it; a type's name as psql says it."""

import pytest
from databases.database import Database
from sql.network.conftest import Opener

CASES = [
    ("'10.50'::numeric(10,2)", "10.50", "numeric"),
    ("'NaN'::numeric", "NaN", "numeric"),
    ("'Infinity'::numeric", "Infinity", "numeric"),
    ("'-Infinity'::numeric", "-Infinity", "numeric"),
    (
        "'123456789012345678901234567890.0123456789'::numeric",
        "123456789012345678901234567890.0123456789",
        "numeric",
    ),
    ("(-32768)::int2", -32768, "smallint"),
    ("(-2147483648)::int4", -2147483648, "integer"),
    ("9223372036854775807::int8", 9223372036854775807, "bigint"),
    ("4294967295::oid", 4294967295, "oid"),
    ("0.1::float4", 0.1, "real"),
    ("0.1::float8", 0.1, "double precision"),
    ("1.7976931348623157e308::float8", 1.7976931348623157e308, "double precision"),
    ("'NaN'::float8", "NaN", "double precision"),
    ("'Infinity'::float4", "Infinity", "real"),
    ("'-Infinity'::float8", "-Infinity", "double precision"),
    ("true", True, "boolean"),
    ("NULL::boolean", None, "boolean"),
    ("''::text", "", "text"),
    ("'NULL'::text", "NULL", "text"),
    ("'ü😀'::varchar(10)", "ü😀", "character varying"),
    ("'ab'::char(4)", "ab  ", "character"),
    ("'n'::name", "n", "name"),
    ("'x'::\"char\"", "x", '"char"'),
    ("'2024-02-29'::date", "2024-02-29", "date"),
    ("'infinity'::date", "infinity", "date"),
    ("'-infinity'::timestamp", "-infinity", "timestamp without time zone"),
    ("'0044-03-15 BC'::date", "0044-03-15 BC", "date"),
    ("'12024-02-29'::date", "12024-02-29", "date"),
    ("'2024-02-29 23:59:59.000001'::timestamp", "2024-02-29 23:59:59.000001", "timestamp without time zone"),
    ("'2024-02-29 12:00:00+02'::timestamptz", "2024-02-29 10:00:00+00", "timestamp with time zone"),
    ("'24:00:00'::time", "24:00:00", "time without time zone"),
    ("'12:00:00+02'::timetz", "12:00:00+02", "time with time zone"),
    ("'1 year 2 mons 3 days 04:05:06.5'::interval", "1 year 2 mons 3 days 04:05:06.5", "interval"),
    ("'-1 day'::interval", "-1 days", "interval"),
    ("""'{"b": 1,  "a": 1.0}'::json""", '{"b": 1,  "a": 1.0}', "json"),
    ("""'{"b": 1,  "a": 1.0}'::jsonb""", '{"a": 1.0, "b": 1}', "jsonb"),
    ("'null'::jsonb", "null", "jsonb"),
    ("ARRAY[[1,2],[3,NULL]]", "{{1,2},{3,NULL}}", "integer[]"),
    ("'[0:1]={1,2}'::int[]", "[0:1]={1,2}", "integer[]"),
    ("ARRAY['a,b','\"', NULL]", '{"a,b","\\"",NULL}', "text[]"),
    ("'{}'::text[]", "{}", "text[]"),
    ("int4range(1, 5)", "[1,5)", "int4range"),
    ("'empty'::numrange", "empty", "numrange"),
    ("int4multirange(int4range(1,2), int4range(5,6))", "{[1,2),[5,6)}", "int4multirange"),
    ("ROW(1, 'x,y', NULL)", '(1,"x,y",)', "record"),
    ("'\\x00ff'::bytea", "0x00ff", "bytea"),
    ("''::bytea", "0x", "bytea"),
    ("B'0101'", "0101", "bit"),
    ("'101'::varbit", "101", "bit varying"),
    ("'123e4567-e89b-12d3-a456-426655440000'::uuid", "123e4567-e89b-12d3-a456-426655440000", "uuid"),
    ("'10.0.0.1/24'::inet", "10.0.0.1/24", "inet"),
    ("'10.0.0.0/8'::cidr", "10.0.0.0/8", "cidr"),
    ("'08:00:2b:01:02:03'::macaddr", "08:00:2b:01:02:03", "macaddr"),
    ("'12.50'::money", "$12.50", "money"),
    ("'(1,2)'::point", "(1,2)", "point"),
    ("'{1,2,3}'::line", "{1,2,3}", "line"),
    ("'[(0,0),(1,1)]'::lseg", "[(0,0),(1,1)]", "lseg"),
    ("'(1,1),(0,0)'::box", "(1,1),(0,0)", "box"),
    ("'((0,0),(1,1),(2,0))'::path", "((0,0),(1,1),(2,0))", "path"),
    ("'((0,0),(1,1),(2,0))'::polygon", "((0,0),(1,1),(2,0))", "polygon"),
    ("'<(0,0),1>'::circle", "<(0,0),1>", "circle"),
    ("to_tsvector('english', 'fat cats')", "'cat':2 'fat':1", "tsvector"),
    ("'fat & rat'::tsquery", "'fat' & 'rat'", "tsquery"),
    ("'<a>x</a>'::xml", "<a>x</a>", "xml"),
    ("'pg_class'::regclass", "pg_class", "regclass"),
    ("'1/2'::pg_lsn", "1/2", "pg_lsn"),
    ("'untyped'", "untyped", "text"),
    ("NULL", None, "text"),
]


@pytest.mark.parametrize(("value", "cell", "type_name"), CASES, ids=[case[0] for case in CASES])
async def test_a_value_is_shown_as_it_is(post: Opener, value: str, cell: object, type_name: str) -> None:
    async with post() as source:
        result = await source.run(f"SELECT {value} AS v")
        assert result.rows == ((cell,),)
        assert type(result.rows[0][0]) is type(cell)
        assert result.columns[0].type == type_name


async def test_types_of_the_operators_own_have_their_names(post: Opener, postgres: Database) -> None:
    postgres.run(
        "DROP SCHEMA IF EXISTS own CASCADE; CREATE SCHEMA own;"
        "CREATE TYPE own.mood AS ENUM ('sad', 'fine'); CREATE DOMAIN own.positive AS int CHECK (VALUE > 0);"
        "CREATE TYPE own.pair AS (a int, b text);"
        "CREATE TABLE own.t (m own.mood, p own.positive, q own.pair);"
        "INSERT INTO own.t VALUES ('fine', 7, ROW(1, 'x y'));"
    )
    async with post() as source:
        result = await source.run("SELECT m, p, q, ARRAY[m], t FROM own.t AS t")
        assert result.rows == (("fine", 7, '(1,"x y")', "{fine}", '(fine,7,"(1,""x y"")")'),)
        assert [column.type for column in result.columns] == [
            "own.mood",
            "integer",  # a domain's values travel as its base type's
            "own.pair",
            "own.mood[]",
            "own.t",
        ]


async def test_a_function_without_a_value_shows_an_empty_one(post: Opener) -> None:
    async with post() as source:
        result = await source.run("SELECT pg_sleep(0)")
        assert (result.rows, result.columns[0].type) == ((("",),), "void")


async def test_an_empty_select_has_rows_without_columns(post: Opener) -> None:
    async with post() as source:
        result = await source.run("SELECT FROM generate_series(1, 2)")
        assert (result.columns, result.rows) == ((), ((), ()))
