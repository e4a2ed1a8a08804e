"""PostgreSQL's keywords, by what a name can be: from `pg_get_keywords()` of 15 to 17. Pure values.

A reserved word is never a table, column or function unless it is quoted, stands behind a dot or behind AS.
"""

from callgate.sql.guard.tokens import word_set

# "reserved"
RESERVED = word_set(
    """
    all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
    current_catalog current_date current_role current_time current_timestamp current_user default deferrable
    desc distinct do else end except false fetch for foreign from grant group having in initially intersect
    into lateral leading limit localtime localtimestamp not null offset on only or order placing primary
    references returning select session_user some symmetric system_user table then to trailing true union
    unique user using variadic when where window with
    """
)
# "reserved (can be function or type)"
RESERVED_OR_FUNCTION = word_set(
    """
    authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join
    left like natural notnull outer overlaps right similar tablesample verbose
    """
)
# "unreserved (cannot be function or type)"
NEVER_FUNCTION = word_set(
    """
    between bigint bit boolean char character coalesce dec decimal exists extract float greatest grouping
    inout int integer interval json_array json_arrayagg json_exists json_object json_objectagg json_query
    json_scalar json_serialize json_table json_value least merge_action national nchar none normalize nullif
    numeric out overlay position precision real row setof smallint substring time timestamp treat trim values
    varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
    xmlserialize xmltable
    """
)
NO_PLAIN_NAME = RESERVED | RESERVED_OR_FUNCTION | NEVER_FUNCTION

# What has a value: behind these, and behind no other reserved word, an operand is complete.
VALUE_WORDS = word_set(
    """
    null true false end user current_date current_time current_timestamp current_user session_user
    current_role current_catalog localtime localtimestamp system_user
    """
)
# Reserved words and syntax that looks like a call, and calls nothing but what the words themselves stand for.
# TREAT is left out: TREAT(x AS f) calls the function f. Words that mean it in some places only are in
# `column_lists`.
BEFORE_PARENTHESIS = word_set(
    """
    all and any array as both case cast check collate default distinct else end except from group having in
    intersect lateral leading limit not offset on only or placing returning select some symmetric then to
    trailing union unique using variadic when where with current_time current_timestamp localtime
    localtimestamp like overlaps between coalesce exists extract greatest grouping least normalize nullif
    overlay position row substring trim values xmlattributes xmlconcat xmlelement xmlexists xmlforest
    xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable json_array json_arrayagg json_exists
    json_object json_objectagg json_query json_scalar json_serialize json_table json_value bit char character
    dec decimal float interval nchar numeric time timestamp varchar
    """
)
