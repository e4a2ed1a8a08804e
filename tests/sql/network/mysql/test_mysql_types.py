"""Every type of MariaDB's, shown as it is: the same cell by text and by prepared statement."""

import struct

import pytest
from sql.network.conftest import Opener

from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.engines.mysql.driver.columns import RowColumn
from callgate.sql.engines.mysql.driver.geometry import to_wkt
from callgate.sql.engines.mysql.driver.packets import ColumnDefinition, Greeting
from callgate.sql.engines.mysql.driver.session import pins_of
from callgate.sql.guard.policy import Policy

CASES = [
    # column type, value as SQL, cell, type's name
    ("decimal(10,2)", "10.50", "10.50", "decimal"),
    ("decimal(65,30)", "-0.1", "-0.100000000000000000000000000000", "decimal"),
    ("decimal(30,0)", "123456789012345678901234567890", "123456789012345678901234567890", "decimal"),
    ("tinyint", "-128", -128, "tinyint"),
    ("tinyint unsigned", "255", 255, "tinyint unsigned"),
    ("smallint", "-32768", -32768, "smallint"),
    ("mediumint", "-8388608", -8388608, "mediumint"),
    ("mediumint unsigned", "16777215", 16777215, "mediumint unsigned"),
    ("int", "-2147483648", -2147483648, "int"),
    ("int unsigned", "4294967295", 4294967295, "int unsigned"),
    ("bigint", "-9223372036854775808", -9223372036854775808, "bigint"),
    ("bigint unsigned", "18446744073709551615", 18446744073709551615, "bigint unsigned"),
    ("boolean", "true", 1, "tinyint"),
    ("float", "0.1", 0.1, "float"),
    ("double", "0.1", 0.1, "double"),
    ("double", "1.7976931348623157e308", 1.7976931348623157e308, "double"),
    ("double", "-2.2250738585072014e-308", -2.2250738585072014e-308, "double"),
    ("date", "'2024-02-29'", "2024-02-29", "date"),
    ("date", "'0000-00-00'", "0000-00-00", "date"),
    ("date", "'2024-00-00'", "2024-00-00", "date"),
    ("datetime", "'2024-02-29 23:59:59'", "2024-02-29 23:59:59", "datetime"),
    ("datetime", "'0000-00-00 00:00:00'", "0000-00-00 00:00:00", "datetime"),
    ("datetime(6)", "'2024-02-29 23:59:59.000001'", "2024-02-29 23:59:59.000001", "datetime"),
    ("datetime(3)", "'2024-02-29 23:59:59'", "2024-02-29 23:59:59.000", "datetime"),
    ("timestamp", "'2024-02-29 12:00:00'", "2024-02-29 12:00:00", "timestamp"),
    ("time", "'838:59:59'", "838:59:59", "time"),
    ("time", "'-838:59:59'", "-838:59:59", "time"),
    ("time(2)", "'-00:00:00.25'", "-00:00:00.25", "time"),
    ("time", "'00:00:00'", "00:00:00", "time"),
    ("year", "2024", 2024, "year"),
    ("year", "0", 0, "year"),
    ("json", """'{"a": [1, null], "ü": "x"}'""", '{"a": [1, null], "ü": "x"}', "json"),
    ("char(5)", "'ab'", "ab", "char"),
    ("varchar(20)", "'ü😀'", "ü😀", "varchar"),
    ("varchar(20)", "''", "", "varchar"),
    ("varchar(20)", "NULL", None, "varchar"),
    ("varchar(20)", "'NULL'", "NULL", "varchar"),
    ("tinytext", "'x'", "x", "tinytext"),
    ("text", "'x'", "x", "text"),
    ("mediumtext", "'x'", "x", "mediumtext"),
    ("longtext", "'x'", "x", "longtext"),
    ("binary(4)", "x'00ff'", "0x00ff0000", "binary"),
    ("varbinary(10)", "x'00ff'", "0x00ff", "varbinary"),
    ("tinyblob", "x'00ff'", "0x00ff", "tinyblob"),
    ("blob", "x'00ff'", "0x00ff", "blob"),
    ("mediumblob", "x'00ff'", "0x00ff", "mediumblob"),
    ("longblob", "''", "0x", "longblob"),
    ("bit(1)", "b'1'", "1", "bit"),
    ("bit(10)", "b'101'", "0000000101", "bit"),
    ("bit(64)", "b'1'", "0" * 63 + "1", "bit"),
    ("enum('a','b')", "'b'", "b", "enum"),
    ("set('a','b','c')", "'a,c'", "a,c", "set"),
    ("set('a','b')", "''", "", "set"),
    ("geometry", "ST_GeomFromText('POINT(1 2.5)')", "POINT(1 2.5)", "geometry"),
    ("point", "ST_GeomFromText('POINT(-1 2)', 4326)", "SRID=4326;POINT(-1 2)", "point"),
    ("linestring", "ST_GeomFromText('LINESTRING(0 0,1 1)')", "LINESTRING(0 0,1 1)", "linestring"),
    (
        "polygon",
        "ST_GeomFromText('POLYGON((0 0,4 0,4 4,0 0),(1 1,2 1,2 2,1 1))')",
        "POLYGON((0 0,4 0,4 4,0 0),(1 1,2 1,2 2,1 1))",
        "polygon",
    ),
    ("multipoint", "ST_GeomFromText('MULTIPOINT(0 0,1 1)')", "MULTIPOINT((0 0),(1 1))", "multipoint"),
    (
        "geometrycollection",
        "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))')",
        "GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))",
        "geometrycollection",
    ),
    ("inet6", "'2001:db8::1'", "2001:db8::1", "inet6"),
    ("inet4", "'10.0.0.1'", "10.0.0.1", "inet4"),
    (
        "uuid",
        "'123e4567-e89b-12d3-a456-426655440000'",
        "123e4567-e89b-12d3-a456-426655440000",
        "uuid",
    ),
]

OF_MARIADB = ("inet4", "inet6", "uuid")


@pytest.mark.parametrize(
    ("column", "value", "cell", "type_name"), CASES, ids=[f"{c[0]}={c[1]}" for c in CASES]
)
async def test_a_value_is_shown_as_it_is(
    maria: Opener, column: str, value: str, cell: object, type_name: str
) -> None:
    async with maria() as source:
        if column in OF_MARIADB:
            source.server.needs_mariadb(f"type {column}")
        if source.server.flavour == "mysql" and value.startswith("ST_"):
            type_name = "geometry"  # it says no more
        table = source.table("typed", f"v {column}")
        source.server.run(f"SET sql_mode = ''; INSERT INTO {table} VALUES ({value})")
        plain = await source.run(f"SELECT v FROM {table}")
        prepared = await source.run(f"SELECT v FROM {table} WHERE 1 = ?", 1)
        assert plain.rows == ((cell,),)
        assert plain.columns[0].type == type_name
        assert prepared.rows == ((cell,),)
        assert prepared.columns[0].type == type_name
        assert [type(row[0]) for row in prepared.rows] == [type(cell)]


async def test_null_and_empty_differ(maria: Opener) -> None:
    async with maria() as source:
        assert await source.rows("SELECT NULL, '', 'NULL', 0") == [(None, "", "NULL", 0)]
        assert await source.rows("SELECT NULL, '', 'NULL', ?", 0) == [(None, "", "NULL", 0)]


async def test_many_columns_with_nulls_keep_their_places(maria: Opener) -> None:
    async with maria() as source:
        expected = tuple(None if n % 3 else n for n in range(70))
        sql = "SELECT " + ", ".join("NULL" if cell is None else str(cell) for cell in expected)
        assert await source.rows(sql) == [expected]
        assert await source.rows(f"{sql}, ?", 1) == [(*expected, 1)]


async def test_a_column_of_another_charset_is_read_as_unicode(maria: Opener) -> None:
    async with maria() as source:
        table = source.table("old", "v varchar(10) CHARACTER SET latin1")
        source.server.run(f"INSERT INTO {table} VALUES ('grün')")
        assert await source.cell(f"SELECT v FROM {table}") == "grün"


async def test_a_geometry_that_is_none_is_shown_as_bytes(maria: Opener) -> None:
    assert to_wkt(b"") is None
    assert to_wkt(b"\0" * 9) is None
    assert to_wkt(b"\0\0\0\0\x01\x07\0\0\0\xff\xff\xff\xff") is None


@pytest.mark.parametrize(
    ("srid", "shown"),
    [(4326, "SRID=4326;POINT(-1 2)"), (7035, "SRID=7035;POINT(2 -1)"), (3857, "SRID=3857;POINT(2 -1)")],
)
def test_mysql_8_writes_the_axes_in_the_order_of_their_system(srid: int, shown: str) -> None:
    """As its own ST_AsText: what is stored is longitude, then latitude."""
    stored = struct.pack("<IBIdd", srid, 1, 1, 2.0, -1.0)
    assert to_wkt(stored, by_system=True) == shown
    assert to_wkt(stored) == f"SRID={srid};POINT(2 -1)"


async def test_a_place_on_earth_is_shown_as_the_server_shows_it(maria: Opener) -> None:
    wkt = "POLYGON((48 11,48 12,49 12,48 11))"
    async with maria() as source:
        shown = await source.rows(
            f"SELECT ST_GeomFromText('{wkt}', 4326), ST_AsText(ST_GeomFromText('{wkt}', 4326))"
        )
    assert shown == [(f"SRID=4326;{wkt}", wkt)]


def column(type_code: int) -> RowColumn:
    return RowColumn(ColumnDefinition("v", 63, 12, type_code, 0, 0), 8192)


def test_a_vector_of_mysql_9_is_shown_as_numbers() -> None:
    vector = column(242)
    assert (vector.column.type, vector.decode(struct.pack("<3f", 1, 2.5, -3.1))) == ("vector", "[1,2.5,-3.1]")
    assert vector.decode(struct.pack("<2f", 1e-20, 16777217)) == "[1e-20,16777216]"


def test_a_type_that_nobody_knows_is_shown_in_hexadecimal() -> None:
    unknown = column(241)
    assert (unknown.column.type, unknown.decode(b"\x00ab")) == ("type 241", "0x006162")


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("9.7.4", "transaction_read_only"),
        ("8.0.36", "transaction_read_only"),
        ("5.5.5-10.11.19-MariaDB", "tx_read_only"),
        ("11.0.2-MariaDB", "tx_read_only"),
        ("11.8.6-MariaDB", "transaction_read_only"),
    ],
)
def test_the_variable_that_makes_a_session_read_only_is_not_the_deprecated_one(
    version: str, name: str
) -> None:
    greeting = Greeting(version, 1, b"", 0, 0, "")
    pins = pins_of(
        Policy(MYSQL),
        is_mariadb=greeting.is_mariadb,
        version=greeting.version,
        server_modes="",
        tracks_state=False,
    )
    assert pins.variables[name] == 1
