"""Built-in functions of MySQL and MariaDB that may be called: an allow-list, reviewed by hand.

From MariaDB's information_schema.SQL_FUNCTIONS and the manuals of MySQL 5.7 to 9. Left off on purpose:
- files: load_file; time: sleep, benchmark, kdf (as many rounds as it is told);
- locks: get_lock, release_lock, release_all_locks;
- waiting for replication: master_pos_wait, master_gtid_wait, source_pos_wait, wait_for_executed_gtid_set,
  wait_until_sql_thread_after_gtids, wsrep_sync_wait_upto_gtid;
- sequences that advance: nextval (in write mode only), setval;
- credentials: password, old_password, encrypt, des_encrypt, des_decrypt, encode, decode, roles_graphml;
- binary log and replication internals: binlog_gtid_pos, group_replication_*, asynchronous_connection_*;
- the data dictionary's own (can_access_*, get_dd_*, internal_*), keyring_*, audit_*, firewall and version
  token functions: loadable ones that change or reveal the server.
"""

from callgate.sql.guard.tokens import word_set

STRING = word_set(
    """
    ascii bin bit_length char char_length character_length chr concat concat_ws elt export_set field
    find_in_set format from_base64 hex insert instr lcase left length lengthb locate lower lpad ltrim
    make_set mid natural_sort_key oct octet_length ord position quote regexp_instr regexp_like
    regexp_replace regexp_substr repeat replace reverse right rpad rtrim sformat soundex space strcmp
    substr substring substring_index to_base64 to_char trim ucase unhex upper weight_string
    """
)
FLOW = word_set("coalesce greatest if ifnull interval isnull least nullif nvl nvl2")
NUMERIC = word_set(
    """
    abs acos asin atan atan2 bit_count ceil ceiling conv cos cot crc32 crc32c degrees exp floor ln log
    log10 log2 mod pi pow power radians rand round sign sin sqrt tan truncate
    """
)
DATE = word_set(
    """
    add_months adddate addtime convert_tz curdate current_date current_time current_timestamp curtime date
    date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear extract from_days
    from_unixtime get_format hour last_day localtime localtimestamp makedate maketime microsecond minute
    month monthname now period_add period_diff quarter sec_to_time second str_to_date
    subdate subtime sysdate time time_format time_to_sec timediff timestamp timestampadd timestampdiff
    to_days to_seconds unix_timestamp utc_date utc_time utc_timestamp week weekday
    weekofyear year yearweek
    """
)
AGGREGATE = word_set(
    """
    any_value avg bit_and bit_or bit_xor count group_concat grouping json_arrayagg json_objectagg max
    median min percentile_cont percentile_disc st_collect std stddev stddev_pop stddev_samp sum var_pop
    var_samp variance
    """
)
WINDOW = word_set(
    """
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
    """
)
JSON = word_set(
    """
    json_array json_array_append json_array_insert json_array_intersect json_compact json_contains
    json_contains_path json_depth json_detailed json_equals json_exists json_extract json_insert
    json_key_value json_keys json_length json_loose json_merge json_merge_patch json_merge_preserve
    json_normalize json_object json_object_filter_keys json_object_to_array json_overlaps json_pretty
    json_query json_quote json_remove json_replace json_schema_valid json_schema_validation_report
    json_search json_set json_storage_free json_storage_size json_type json_unquote json_valid json_value
    column_add column_check column_create column_delete column_exists column_get column_json column_list
    """
)
HASH = word_set(
    """
    aes_decrypt aes_encrypt compress md5 random_bytes sha sha1 sha2 statement_digest
    statement_digest_text uncompress uncompressed_length validate_password_strength
    """
)
ABOUT = word_set(
    """
    charset coercibility collation connection_id current_role current_user database found_rows
    etag format_bytes format_pico_time gtid_subset gtid_subtract icu_version is_free_lock is_used_lock
    last_insert_id lastval ps_current_thread_id ps_thread_id row_count rownum schema session_user
    system_user user version
    """
)
NETWORK_ADDRESS = word_set(
    "inet6_aton inet6_ntoa inet_aton inet_ntoa is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6"
)
OTHER = word_set(
    """
    bin_to_uuid binary cast convert decode_histogram decode_oracle default extractvalue is_uuid name_const
    row sys_guid updatexml uuid uuid_short uuid_to_bin uuid_v4 uuid_v7 values from_vector string_to_vector
    to_vector vec_distance vec_distance_cosine vec_distance_euclidean vec_fromtext vec_totext vector_dim
    vector_to_string
    """
)
SPATIAL = word_set(
    """
    asbinary astext aswkb aswkt geometrycollection geomcollection geomfromtext geomfromwkb linestring
    mbrcontains mbrcoveredby mbrcovers mbrdisjoint mbrequal mbrequals mbrintersects mbroverlaps mbrtouches
    mbrwithin multilinestring multipoint multipolygon point polygon
    st_area st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_boundary st_buffer st_buffer_strategy
    st_centroid st_contains st_convexhull st_crosses st_difference st_dimension st_disjoint st_distance
    st_distance_sphere st_endpoint st_envelope st_equals st_exteriorring st_frechetdistance st_geohash
    st_geomcollfromtext st_geomcollfromtxt st_geomcollfromwkb st_geometrycollectionfromtext
    st_geometrycollectionfromwkb st_geometryfromtext st_geometryfromwkb st_geometryn st_geometrytype
    st_geomfromgeojson st_geomfromtext st_geomfromwkb st_hausdorffdistance
    st_interiorringn st_intersection st_intersects st_isclosed st_isempty st_isring st_issimple
    st_isvalid st_latfromgeohash st_latitude st_length st_linefromtext st_linefromwkb
    st_linestringfromtext st_linestringfromwkb
    st_lineinterpolatepoint st_lineinterpolatepoints st_longfromgeohash st_longitude st_makeenvelope
    st_mlinefromtext st_mpointfromtext st_mpolyfromtext st_multilinestringfromtext
    st_multipointfromtext st_multipolygonfromtext st_numgeometries st_numinteriorring
    st_numinteriorrings st_numpoints st_overlaps st_pointatdistance st_pointfromgeohash
    st_pointfromtext st_pointfromwkb st_pointn st_pointonsurface st_polyfromtext st_polyfromwkb
    st_polygonfromtext st_relate st_simplify st_srid st_startpoint st_swapxy st_symdifference st_touches
    st_transform st_union st_validate st_within st_x st_y
    st_mlinefromwkb st_mpointfromwkb st_mpolyfromwkb st_multilinestringfromwkb st_multipointfromwkb
    st_multipolygonfromwkb st_polygonfromwkb
    """
)
# Without the prefix: MySQL until 5.7, and MariaDB to this day. (Not distance: neither has it.)
SPATIAL_OF_OLD = word_set(
    """
    area boundary buffer centroid contains convexhull crosses dimension disjoint endpoint envelope equals
    exteriorring geomcollfromtext geomcollfromwkb geometrycollectionfromtext geometrycollectionfromwkb
    geometryfromtext geometryfromwkb geometryn geometrytype glength interiorringn intersects isclosed
    isempty isring issimple linefromtext linefromwkb linestringfromtext linestringfromwkb mlinefromtext
    mlinefromwkb mpointfromtext mpointfromwkb mpolyfromtext mpolyfromwkb multilinestringfromtext
    multilinestringfromwkb multipointfromtext multipointfromwkb multipolygonfromtext
    multipolygonfromwkb numgeometries numinteriorrings numpoints overlaps pointfromtext pointfromwkb
    pointn pointonsurface polyfromtext polyfromwkb polygonfromtext polygonfromwkb srid startpoint touches
    within x y
    """
)
# Stored functions of the sys schema: they format what they are given.
OF_SYS = word_set(
    """
    sys.extract_schema_from_file_name sys.extract_table_from_file_name sys.format_bytes sys.format_path
    sys.format_statement sys.format_time sys.quote_identifier sys.version_major sys.version_minor
    sys.version_patch
    """
)

ALLOWED = frozenset[str]().union(
    *(
        STRING,
        FLOW,
        NUMERIC,
        DATE,
        AGGREGATE,
        WINDOW,
        JSON,
        HASH,
        ABOUT,
        NETWORK_ADDRESS,
        OTHER,
        SPATIAL,
        SPATIAL_OF_OLD,
        OF_SYS,
    )
)

# Advance a sequence: a write, honest in write mode.
IN_WRITE_MODE = word_set("nextval")

# Reach files, other programs, other sessions or the clock. No operator's list makes them harmless.
FORBIDDEN = word_set(
    """
    load_file sleep benchmark get_lock release_lock release_all_locks master_pos_wait master_gtid_wait
    source_pos_wait wait_for_executed_gtid_set wait_until_sql_thread_after_gtids wsrep_sync_wait_upto_gtid
    sys_exec sys_eval sys_get sys_set setval
    """
)

# Keywords only with the parenthesis right behind them: `count (x)` calls a stored function called count
# ("Function Name Parsing and Resolution" in the manual; MariaDB's own list asked from 10.11).
ADJACENT = word_set(
    """
    adddate bit_and bit_or bit_xor cast count curdate curtime date_add date_sub extract
    group_concat json_arrayagg json_objectagg max median mid min now percentile_cont percentile_disc
    position session_user st_collect std stddev stddev_pop stddev_samp subdate substr substring sum
    sysdate system_user trim var_pop var_samp variance
    """
)
