"""PostgreSQL's functions that may be called: an allow-list, sorted by hand from `pg_proc` of 15 to 17.

Volatility is a hint and no more: `query_to_xml` and `ts_rewrite` run the text they are given, `txid_current`
is stable and takes a number. `tests/sql/guard/test_postgres_functions.py` holds every volatile function of
the engine at hand against these lists. Left off on purpose, beyond `refused_functions`: what implements
operators, index methods, input and output (`int4pl`, `btint4cmp`, `textin`), for nobody writes them.
"""

from types import MappingProxyType

from callgate.sql.guard.dialect import FormatStyle, Sized
from callgate.sql.guard.tokens import word_set

TEXT = word_set(
    """
    ascii bit_length btrim cash_words casefold hashint4 hashint8 hashtext hashtextextended char_length
    character_length chr concat concat_ws convert convert_from convert_to crc32 crc32c decode encode format
    initcap is_normalized left length like lower lpad ltrim md5 normalize notlike octet_length overlay
    parse_ident position quote_ident quote_literal quote_nullable regexp_count regexp_instr regexp_like
    regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr
    repeat replace reverse right rpad rtrim sha224 sha256 sha384 sha512 split_part starts_with string_agg
    string_to_array string_to_table strpos substr substring textlen to_ascii to_bin to_hex to_oct translate
    unicode_assigned unicode_version icu_unicode_version unistr upper bit_count get_bit get_byte set_bit
    set_byte
    """
)
NUMBERS = word_set(
    """
    abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh cot
    cotd degrees div erf erfc exp factorial floor gamma gcd lcm lgamma ln log log10 min_scale mod pi pow power
    radians random random_normal round scale sign sin sind sinh sqrt tan tand tanh trim_scale trunc
    width_bucket gen_random_uuid uuidv4 uuidv7 uuid_extract_timestamp uuid_extract_version
    """
)
TIMES = word_set(
    """
    age clock_timestamp date_add date_bin date_part date_subtract date_trunc extract isfinite justify_days
    justify_hours justify_interval make_date make_interval make_time make_timestamp make_timestamptz now
    overlaps statement_timestamp timeofday timezone to_char to_date to_number to_timestamp
    transaction_timestamp
    """
)
AGGREGATES = word_set(
    """
    any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp cume_dist
    dense_rank every first_value lag last_value lead max min mode nth_value ntile percent_rank percentile_cont
    percentile_disc range_agg range_intersect_agg rank regr_avgx regr_avgy regr_count regr_intercept regr_r2
    regr_slope regr_sxx regr_sxy regr_syy row_number stddev stddev_pop stddev_samp sum var_pop var_samp
    variance xmlagg
    """
)
ARRAYS_AND_RANGES = word_set(
    """
    array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position
    array_positions array_prepend array_remove array_replace array_reverse array_sample array_shuffle
    array_sort array_to_string array_upper cardinality generate_series generate_subscripts isempty lower_inc
    lower_inf multirange num_nonnulls num_nulls range_merge trim_array unnest upper_inc upper_inf enum_cmp
    enum_first enum_last enum_range
    """
)
JSON = word_set(
    """
    array_to_json json_agg json_agg_strict json_array_elements json_array_elements_text json_array_length
    json_build_array json_build_object json_each json_each_text json_extract_path json_extract_path_text
    json_object json_object_agg json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict
    json_object_keys json_populate_record json_populate_recordset json_strip_nulls json_to_record
    json_to_recordset json_typeof jsonb_agg jsonb_agg_strict jsonb_array_elements jsonb_array_elements_text
    jsonb_array_length jsonb_build_array jsonb_build_object jsonb_contains jsonb_delete jsonb_delete_path
    jsonb_each jsonb_each_text jsonb_exists jsonb_exists_all jsonb_exists_any jsonb_extract_path
    jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_agg_strict
    jsonb_object_agg_unique jsonb_object_agg_unique_strict jsonb_object_keys jsonb_path_exists
    jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array
    jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz
    jsonb_populate_record jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls
    jsonb_to_record jsonb_to_recordset jsonb_typeof row_to_json to_json to_jsonb
    """
)
XML = word_set(
    """
    xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document xmlcomment xmlconcat2 xmltext
    xpath xpath_exists
    """
)
FULL_TEXT = word_set(
    """
    array_to_tsvector get_current_ts_config json_to_tsvector jsonb_to_tsvector numnode phraseto_tsquery
    plainto_tsquery querytree setweight strip to_tsquery to_tsvector ts_debug ts_delete ts_filter ts_headline
    ts_lexize ts_parse ts_rank ts_rank_cd ts_token_type tsquery_phrase tsvector_to_array websearch_to_tsquery
    """
)
GEOMETRY_AND_NETWORK = word_set(
    """
    area bound_box center diagonal diameter height isclosed isopen npoints pclose popen radius slope width
    isparallel isperp ishorizontal isvertical abbrev broadcast family host hostmask inet_merge
    inet_same_family macaddr8_set7bit masklen netmask network set_masklen
    """
)
# What the session and the system catalog say of themselves; sizes and statistics are read, nothing is reset.
INFORMATION = word_set(
    """
    acldefault aclexplode col_description current_database current_query current_schema current_schemas
    current_setting current_user format_type getdatabaseencoding has_any_column_privilege
    has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege has_function_privilege
    has_language_privilege has_parameter_privilege has_schema_privilege has_sequence_privilege
    has_server_privilege has_table_privilege has_tablespace_privilege has_type_privilege inet_client_addr
    inet_client_port inet_server_addr inet_server_port pg_input_error_info pg_input_is_valid makeaclitem
    mxid_age obj_description pg_backend_pid pg_blocking_pids pg_char_to_encoding pg_client_encoding
    pg_collation_actual_version pg_collation_for pg_collation_is_visible pg_column_compression
    pg_column_is_updatable pg_column_size pg_conf_load_time pg_conversion_is_visible pg_current_snapshot
    pg_current_wal_flush_lsn pg_current_wal_insert_lsn pg_current_wal_lsn
    pg_database_collation_actual_version pg_database_size pg_describe_object pg_encoding_max_length
    pg_encoding_to_char pg_extension_update_paths pg_filenode_relation pg_function_is_visible
    pg_get_catalog_foreign_keys pg_get_constraintdef pg_get_expr pg_get_function_arg_default
    pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result
    pg_get_function_sqlbody pg_get_functiondef pg_get_indexdef pg_get_keywords pg_get_object_address
    pg_get_partition_constraintdef pg_get_partkeydef pg_get_publication_tables
    pg_get_replica_identity_index pg_get_ruledef pg_get_serial_sequence pg_get_statisticsobjdef
    pg_get_statisticsobjdef_columns pg_get_statisticsobjdef_expressions pg_get_triggerdef pg_get_userbyid
    pg_get_viewdef pg_get_wal_replay_pause_state pg_has_role pg_identify_object
    pg_identify_object_as_address pg_index_column_has_property pg_index_has_property
    pg_indexam_has_property pg_indexes_size pg_is_in_recovery pg_is_other_temp_schema
    pg_is_wal_replay_paused pg_jit_available pg_last_wal_receive_lsn pg_last_wal_replay_lsn
    pg_last_xact_replay_timestamp pg_listening_channels pg_lock_status pg_my_temp_schema
    pg_notification_queue_usage pg_opclass_is_visible pg_operator_is_visible pg_opfamily_is_visible
    pg_options_to_table pg_partition_ancestors pg_partition_root pg_partition_tree
    pg_postmaster_start_time pg_relation_filenode pg_relation_filepath pg_relation_is_publishable
    pg_relation_is_updatable pg_relation_size pg_safe_snapshot_blocking_pids pg_sequence_last_value
    pg_sequence_parameters pg_settings_get_flags pg_size_bytes pg_size_pretty pg_snapshot_xip
    pg_snapshot_xmax pg_snapshot_xmin pg_statistics_obj_is_visible pg_table_is_visible pg_table_size
    pg_tablespace_databases pg_tablespace_location pg_tablespace_size pg_timezone_abbrevs
    pg_timezone_names pg_total_relation_size pg_trigger_depth pg_ts_config_is_visible
    pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible pg_typeof
    pg_visible_in_snapshot pg_wal_lsn_diff pg_walfile_name pg_xact_commit_timestamp row_security_active
    session_user shobj_description system_user to_regclass to_regcollation to_regnamespace to_regoper
    to_regoperator to_regproc to_regprocedure to_regrole to_regtype to_regtypemod pg_basetype pg_get_acl
    has_largeobject_privilege txid_current_if_assigned txid_current_snapshot
    pg_current_xact_id_if_assigned txid_snapshot_xip txid_snapshot_xmax txid_snapshot_xmin
    txid_visible_in_snapshot version
    """
)
STATISTICS = word_set(
    """
    pg_stat_get_activity pg_stat_get_backend_activity pg_stat_get_backend_activity_start
    pg_stat_get_backend_client_addr pg_stat_get_backend_client_port pg_stat_get_backend_dbid
    pg_stat_get_backend_idset pg_stat_get_backend_pid pg_stat_get_backend_start pg_stat_get_backend_userid
    pg_stat_get_backend_wait_event pg_stat_get_backend_wait_event_type pg_stat_get_backend_xact_start
    pg_stat_get_analyze_count pg_stat_get_autoanalyze_count pg_stat_get_autovacuum_count
    pg_stat_get_blocks_fetched pg_stat_get_blocks_hit pg_stat_get_db_blocks_fetched
    pg_stat_get_db_blocks_hit pg_stat_get_db_numbackends pg_stat_get_db_xact_commit
    pg_stat_get_db_xact_rollback pg_stat_get_dead_tuples pg_stat_get_function_calls
    pg_stat_get_snapshot_timestamp pg_stat_get_last_analyze_time pg_stat_get_last_autoanalyze_time
    pg_stat_get_last_autovacuum_time pg_stat_get_last_vacuum_time pg_stat_get_live_tuples
    pg_stat_get_mod_since_analyze pg_stat_get_numscans pg_stat_get_tuples_deleted
    pg_stat_get_tuples_fetched pg_stat_get_tuples_hot_updated pg_stat_get_tuples_inserted
    pg_stat_get_tuples_returned pg_stat_get_tuples_updated pg_stat_get_vacuum_count
    """
)
# Of extensions that many databases have: they compute from their arguments and nothing else. crosstab and
# connectby are not among them: they run the text they are given.
EXTENSIONS = word_set(
    """
    akeys armor avals binary_quantize citext cosine_distance cube cube_dim cube_distance daitch_mokotoff
    defined difference digest dmetaphone dearmor decrypt decrypt_iv dmetaphone_alt each earth earth_box
    earth_distance encrypt encrypt_iv exist gen_random_bytes hmac hstore hstore_to_json hstore_to_jsonb
    hstore_to_matrix hstore_to_array inner_product int_array_aggregate intset isdefined isexists l1_distance
    l2_distance latitude lca levenshtein levenshtein_less_equal ll_to_earth longitude ltree2text metaphone
    nlevel normal_rand pgp_pub_decrypt pgp_sym_decrypt pgp_sym_encrypt show_limit show_trgm similarity skeys
    slice soundex strict_word_similarity subltree subpath svals text2ltree text_soundex time_bucket unaccent
    uuid_generate_v1 uuid_generate_v1mc uuid_generate_v3 uuid_generate_v4 uuid_generate_v5 uuid_nil
    uuid_ns_dns uuid_ns_oid uuid_ns_url uuid_ns_x500 vector_dims vector_norm word_similarity st_area
    st_asbinary st_asewkt st_asgeojson st_astext st_azimuth st_boundary st_buffer st_centroid st_closestpoint
    st_collect st_contains st_coveredby st_covers st_crosses st_difference st_dimension st_disjoint
    st_distance st_distancesphere st_dwithin st_envelope st_equals st_expand st_extent st_geogfromtext
    st_geohash st_geometryn st_geometrytype st_geomfromgeojson st_geomfromtext st_geomfromwkb st_intersection
    st_intersects st_isempty st_isvalid st_length st_makeenvelope st_makeline st_makepoint st_npoints
    st_numgeometries st_overlaps st_perimeter st_point st_pointfromtext st_pointonsurface st_setsrid
    st_simplify st_srid st_touches st_transform st_union st_within st_x st_xmax st_xmin st_y st_ymax st_ymin
    st_z
    """
)
# How JDBC asks for the columns of a key.
OF_DRIVERS = frozenset({"information_schema._pg_expandarray"})
# In the RETURNING of a MERGE, from 17 on.
OF_MERGE = word_set("merge_action")
# Change a sequence, or read what this session did to it: part of writing, no part of reading.
SEQUENCES = word_set("nextval currval lastval")

# The names of types are functions as well: date(x), text(x), int4range(1, 5).
TYPES = word_set(
    """
    bigint bit bool boolean box bpchar bytea char character cidr circle date datemultirange daterange dec
    decimal double float float4 float8 inet int int2 int2vector int4 int4multirange int4range int8
    int8multirange int8range integer interval json jsonb jsonpath line lseg macaddr macaddr8 money name
    national nchar numeric nummultirange numrange oid oidvector path pg_lsn pg_snapshot point polygon real
    record refcursor regclass regcollation regconfig regdictionary regnamespace regoper regoperator regproc
    regprocedure regrole regtype smallint text tid time timestamp timestamptz timetz tsmultirange tsquery
    tsrange tstzmultirange tstzrange tsvector txid_snapshot unknown uuid varbit varchar xid xid8 xml aclitem
    cid
    """
)
# Words of the grammar for types that are called otherwise: "int" in quotes is somebody's own.
SPELLINGS = word_set(
    "bigint boolean character dec decimal double float int integer national nchar real smallint"
)
# Of extensions; their input is read by the extension's own C code.
EXTENSION_TYPES = word_set(
    """
    box2d box3d citext cube ean13 earth geography geometry halfvec hstore isbn isbn13 lquery ltree ltxtquery
    query_int seg sparsevec vector
    """
)

# Make as much as they are told (`guard.sizes`). The server's own limit is 1 GB a value; generate_series()
# gives rows, one after the other.
SIZED = MappingProxyType(
    {
        "repeat": Sized(1, multiplies=True),
        "lpad": Sized(1),
        "rpad": Sized(1),
        "array_fill": Sized(1, multiplies=True, of_array=True),
    }
)
FORMATS = MappingProxyType({"format": FormatStyle.PRINTF})

ALLOWED = (
    TEXT
    | NUMBERS
    | TIMES
    | AGGREGATES
    | ARRAYS_AND_RANGES
    | JSON
    | XML
    | FULL_TEXT
    | GEOMETRY_AND_NETWORK
    | INFORMATION
    | STATISTICS
    | EXTENSIONS
    | SEQUENCES
    | OF_DRIVERS
    | OF_MERGE
    | (TYPES - SPELLINGS - {"unknown", "cid"})
    | EXTENSION_TYPES
)
