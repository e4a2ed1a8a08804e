"""Character sets that may introduce a text: `_utf8mb4'…'`. From SHOW CHARACTER SET of both servers. Pure."""

from callgate.sql.guard.tokens import word_set

INTRODUCERS = frozenset(
    f"_{name}"
    for name in word_set(
        """
        armscii8 ascii big5 binary cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 cp932 dec8 eucjpms euckr
        gb18030 gb2312 gbk geostd8 greek hebrew hp8 keybcs2 koi8r koi8u latin1 latin2 latin5 latin7 macce
        macroman sjis swe7 tis620 ucs2 ujis utf16 utf16le utf32 utf8 utf8mb3 utf8mb4
        """
    )
)
