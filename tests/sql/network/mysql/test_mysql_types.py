"""Every type of MariaDB's, shown as it is: the same cell by text and by prepared statement."""

import pytest
from sql.network.conftest import Opener

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


@pytest.mark.parametrize(
    ("column", "value", "cell", "type_name"), CASES, ids=[f"{c[0]}={c[1]}" for c in CASES]
)
async def test_a_value_is_shown_as_it_is(
    maria: Opener, column: str, value: str, cell: object, type_name: str
) -> None:
    async with maria() as source:
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
    from callgate.sql.engines.mysql.driver.geometry import to_wkt

    assert to_wkt(b"") is None
    assert to_wkt(b"\0" * 9) is None
    assert to_wkt(b"\0\0\0\0\x01\x07\0\0\0\xff\xff\xff\xff") is None
