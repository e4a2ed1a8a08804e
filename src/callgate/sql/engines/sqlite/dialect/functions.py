"""SQLite's built-in functions that may be called: an allow-list, reviewed from `PRAGMA function_list`.

Left off on purpose: load_extension (runs code), fts3_tokenizer (pointers), readfile, writefile, edit (the
shell's), sqlite_log (writes to the host's log), optimize, fts5,
rtreenode and friends (internals), matchinfo, offsets (historic memory bugs), subtype.
"""

from types import MappingProxyType

from callgate.sql.guard.dialect import FormatStyle, Sized
from callgate.sql.guard.tokens import word_set

# Make as much as they are told: `guard.sizes` reads the number. printf and format give NULL for a width that
# is too large, but count up to the precision of %c, however large, without a look at the interrupt.
SIZED = MappingProxyType({"randomblob": Sized(0), "zeroblob": Sized(0)})
FORMATS = MappingProxyType({"printf": FormatStyle.PRINTF, "format": FormatStyle.PRINTF})

SCALAR = word_set(
    """
    abs changes char coalesce concat concat_ws format glob hex if ifnull iif instr last_insert_rowid
    length like likelihood likely lower ltrim max min nullif octet_length printf quote random replace
    round rtrim sign soundex sqlite_compileoption_get sqlite_compileoption_used sqlite_source_id
    sqlite_version substr substring total_changes trim typeof unhex unicode unistr unistr_quote unlikely
    upper
    """
)
AGGREGATE = word_set(
    """
    avg count group_concat max median min percentile percentile_cont percentile_disc string_agg sum total
    """
)
WINDOW = word_set(
    """
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
    """
)
DATE = word_set("date datetime julianday strftime time timediff unixepoch")
MATH = word_set(
    """
    acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod
    pi pow power radians sin sinh sqrt tan tanh trunc
    """
)
JSON = word_set(
    """
    json json_array json_array_insert json_array_length json_error_position json_extract json_group_array
    json_group_object json_insert json_object json_patch json_pretty json_quote json_remove json_replace
    json_set json_type json_valid jsonb jsonb_array jsonb_extract jsonb_group_array jsonb_group_object
    jsonb_insert jsonb_object jsonb_remove jsonb_replace jsonb_set
    """
)
# The auxiliary functions of FTS5 (and FTS3's snippet): they read the row at hand.
FULL_TEXT = word_set("bm25 highlight snippet")

# Run code, touch files or hand out pointers. No operator's list makes them harmless.
FORBIDDEN = word_set("load_extension fts3_tokenizer readfile writefile edit sqlite_log")

ALLOWED = frozenset(SIZED) | SCALAR | AGGREGATE | WINDOW | DATE | MATH | JSON | FULL_TEXT

# Time grows with the product of the first two arguments, uninterruptibly (json_patch: 12 s on two texts of
# 256 KiB, 2 ms with a short patch).
WITH_NEEDLE = word_set("instr json_patch ltrim rtrim trim unhex")

JSON_TABLES = word_set("json_each json_tree jsonb_each jsonb_tree")
# Rows one after the other, where the library has it.
SERIES = word_set("generate_series")

# What the engine calls for an operator or a keyword: never written with parentheses, seen by the authorizer.
OF_OPERATORS = frozenset(
    {"->", "->>", "like", "glob", "match", "regexp", "current_date", "current_time", "current_timestamp"}
)
# What ALTER TABLE … RENAME and ADD COLUMN call internally. sqlite_drop_column is not among them.
OF_ALTER = frozenset(
    {"sqlite_rename_table", "sqlite_rename_column", "sqlite_rename_test", "sqlite_rename_quotefix"}
)
