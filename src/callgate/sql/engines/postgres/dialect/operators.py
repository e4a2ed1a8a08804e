"""PostgreSQL's operators by name: its own (`pg_operator` of 15 to 17) and those of widely used extensions.

An account that may create functions may create operators for them: `SELECT 1 @#@ 2` runs such a function.
Pure.
"""

from callgate.sql.guard.tokens import word_set

BUILT_IN = word_set(
    """
    !! !~ !~* !~~ !~~* # ## #- #> #>> % & && &< &<| &> * *< *<= *<> *= *> *>= + - -> ->> -|- / < <-> << <<=
    <<| <= <> <@ <^ = > >= >> >>= >^ ? ?# ?& ?- ?-| ?| ?|| @ @-@ @> @? @@ @@@ ^ ^@ | |&> |/ |>> || ||/ ~ ~*
    ~<=~ ~<~ ~= ~>=~ ~>~ ~~ ~~* !=
    """
)
# pg_trgm, pgvector, PostGIS, earthdistance; of hstore and ltree those that few would pick for their own.
OF_EXTENSIONS = word_set("<% %> <<% %>> <<-> <->> <<<-> <->>> <#> <=> <+> <@> &&& |=| <<#>> <<->> ?@> ?<@ ?~")
ALLOWED = BUILT_IN | OF_EXTENSIONS

# Signs that are no operators, but part of the grammar.
SIGNS = frozenset({",", "(", ")", "[", "]", ".", ";", ":", "::", ":=", "=>", "..", "*"})

# sqlglot reads these as PostgreSQL does; the others are spelled as one of them for its sake.
OF_THE_PARSER = word_set("= < > <= >= <> != + - * / % || -> ->>")
COMPARISONS = frozenset({"=", "<", ">", "<=", ">=", "<>", "!="})
