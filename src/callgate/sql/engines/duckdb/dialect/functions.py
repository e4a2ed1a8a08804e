"""DuckDB's built-in functions that may be called: an allow-list, reviewed from `duckdb_functions()` of 2.0.

Left off on purpose: all that reaches files, networks, extensions or secrets (read_…, glob, parquet_…,
sniff_csv, …_external_resource); that runs SQL given as text or binds it (query, query_table,
json_execute_serialized_sql, json_serialize_plan); that takes pointers (pandas_scan, arrow_scan); that changes
state (nextval, setval, setseed, write_log, checkpoint, enable_logging); that shows variables (getvariable) or
makes callers wait (sleep_ms, pg_sleep); aggregate states and sort keys made of bytes; and what only the
engine itself calls (__internal_…, collate_…). current_setting wants its name written out
(`forms.setting_fault`).
"""

from types import MappingProxyType

from callgate.sql.guard.dialect import FormatStyle, Sized
from callgate.sql.guard.tokens import word_set

LIST = word_set(
    """
    aggregate apply array_aggr array_aggregate array_append array_apply array_cat array_concat
    array_contains array_cosine_distance array_cosine_similarity array_cross_product array_distance
    array_distinct array_dot_product array_extract array_filter array_grade_up array_has array_has_all
    array_has_any array_indexof array_inner_product array_intersect array_length
    array_negative_dot_product array_negative_inner_product array_pop_back array_pop_front array_position
    array_prepend array_push_back array_push_front array_reduce array_resize array_reverse
    array_reverse_sort array_select array_slice array_sort array_to_json array_to_string array_transform
    array_unique array_value array_where array_zip cardinality element_at enum_code enum_first enum_last
    enum_range enum_range_boundary filter flatten generate_series generate_subscripts grade_up len
    list_aggr list_aggregate list_any_value list_append list_apply list_approx_count_distinct list_avg
    list_bit_and list_bit_or list_bit_xor list_bool_and list_bool_or list_cat list_concat list_contains
    list_cosine_distance list_cosine_similarity list_count list_distance list_distinct list_dot_product
    list_element list_entropy list_extract list_filter list_first list_grade_up list_has list_has_all
    list_has_any list_histogram list_indexof list_inner_product list_intersect list_kurtosis
    list_kurtosis_pop list_last list_mad list_max list_median list_min list_mode list_negative_dot_product
    list_negative_inner_product list_pack list_position list_prepend list_product list_reduce list_resize
    list_reverse list_reverse_sort list_select list_sem list_skewness list_slice list_sort list_stddev_pop
    list_stddev_samp list_string_agg list_sum list_transform list_unique list_value list_var_pop
    list_var_samp list_where list_zip map map_concat map_contains map_contains_entry map_contains_value
    map_entries map_extract map_extract_value map_from_entries map_keys map_values range reduce row
    struct_concat struct_contains struct_extract struct_extract_at struct_has struct_indexof struct_insert
    struct_keys struct_pack struct_position struct_update struct_values union_extract union_tag
    union_value variant_array_length variant_contains variant_exists variant_extract
    variant_extract_string variant_group_array variant_keys variant_normalize variant_type variant_typeof
    """
)
JSON = word_set(
    """
    from_json from_json_strict json json_array json_array_length json_contains json_deep_merge json_exists
    json_extract json_extract_path json_extract_path_text json_extract_string json_group_array
    json_group_object json_group_structure json_insert json_keys json_merge_patch json_merge_patch_diff
    json_normalize json_object json_pretty json_quote json_remove json_replace json_set json_strip_nulls
    json_structure json_transform json_transform_strict json_type json_valid json_value row_to_json
    st_asgeojson st_geomfromgeojson to_json
    """
)
DATE = word_set(
    """
    age ago century current_date current_localtime current_localtimestamp date_add date_diff date_part
    date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear
    days_in_month decade epoch epoch_ms epoch_ns epoch_us era get_current_time get_current_timestamp hour
    isodow isoyear julian last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns
    make_timestamptz microsecond millennium millisecond minute month monthname nanosecond
    normalized_interval now quarter second strftime strptime time_bucket timezone timezone_hour
    timezone_minute to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds
    to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp
    try_strptime week weekday weekofyear year yearweek
    """
)
MATH = word_set(
    """
    abs acos acosh add asin asinh atan atan2 atanh binom bit_count cbrt ceil ceiling cos cosh cot degrees
    divide even exp factorial fdiv floor fmod gamma gcd geomean geometric_mean greatest_common_divisor
    isfinite isinf isnan lcm least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow
    power radians random round round_even roundbankers sign signbit sin sinh sqrt subtract tan tanh trunc
    xor
    """
)
SYSTEM_CATALOG = word_set(
    """
    col_description current_catalog current_database current_query current_query_id current_role
    current_schema current_schemas current_setting current_transaction_id current_user format_type
    has_any_column_privilege has_column_privilege has_database_privilege
    has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege has_schema_privilege
    has_sequence_privilege has_server_privilege has_table_privilege has_tablespace_privilege in_search_path
    obj_description pg_collation_is_visible pg_conversion_is_visible pg_function_is_visible
    pg_get_constraintdef pg_get_expr pg_get_viewdef pg_has_role pg_is_other_temp_schema pg_my_temp_schema
    pg_opclass_is_visible pg_operator_is_visible pg_opfamily_is_visible pg_size_pretty pg_table_is_visible
    pg_ts_config_is_visible pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible
    pg_type_is_visible pg_typeof session_user shobj_description txid_current user version
    """
)
OTHER = word_set(
    """
    alias ascii assert_true bar base64 bin bit_length bit_position bitstring char_length character_length
    chr concat concat_ws contains damerau_levenshtein decode editdist3 encode ends_with equi_width_bins
    error format format_bytes formatreadabledecimalsize formatreadablesize from_base64 from_binary
    from_hex gen_random_uuid get_bit greatest hamming hash hex if instr invoke jaccard jaro_similarity
    jaro_winkler_similarity lcase least left left_grapheme length length_grapheme levenshtein lower lpad
    ltrim md5 md5_number md5_number_lower md5_number_upper mismatches nfc_normalize nullif octet_length
    ord overlay parse_dirname parse_dirpath parse_filename parse_formatted_bytes parse_path path_join
    position prefix printf regexp_escape regexp_extract regexp_extract_all regexp_full_match
    regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table repeat replace reverse right
    right_grapheme rpad rtrim set_bit sha1 sha256 split split_part st_asbinary st_astext st_aswkb st_aswkt
    st_crs st_geomfromwkb st_intersects_extent st_setcrs starts_with str_split str_split_regex
    string_split string_split_regex string_to_array strip_accents strlen strpos substr substring
    substring_grapheme suffix switch to_base to_base64 to_binary to_hex translate trim typeof ucase unbin
    unhex unicode upper url_decode url_encode uuid uuid_extract_timestamp uuid_extract_version uuidv4
    uuidv7 wavg weighted_avg
    """
)
AGGREGATE = word_set(
    """
    any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
    arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or
    bit_xor bitstring_agg bool_and bool_or corr count count_if countif covar_pop covar_samp entropy favg
    first fsum group_concat histogram histogram_exact kahan_sum kurtosis kurtosis_pop last list listagg
    lttb mad max max_by mean median min min_by mode product quantile quantile_cont quantile_disc regr_avgx
    regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy reservoir_quantile
    sem skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan var_pop var_samp
    variance variant_group_object
    """
)
WINDOW = word_set(
    """
    cume_dist dense_rank fill first_value lag last_value lead nth_value ntile percent_rank rank rank_dense
    row_number
    """
)

# Read by the parser itself; DuckDB's system catalog does not list them.
SPECIAL = word_set("coalesce grouping grouping_id ifnull nullif percentile_cont percentile_disc try unnest")

ALLOWED = LIST | JSON | DATE | MATH | SYSTEM_CATALOG | OTHER | AGGREGATE | WINDOW | SPECIAL

# Callable in FROM.
TABLES = word_set(
    """
    duckdb_columns duckdb_constraints duckdb_dependencies duckdb_functions duckdb_indexes duckdb_keywords
    duckdb_memory duckdb_optimizers duckdb_schemas duckdb_sequences duckdb_settings duckdb_tables
    duckdb_triggers duckdb_types duckdb_views generate_series icu_calendar_names json_each json_tree
    pg_timezone_names pragma_collations pragma_database_size pragma_show pragma_storage_info
    pragma_table_info pragma_version range test_all_types unnest
    """
)

# Make as much as they are told (`guard.sizes`). Without that, lpad, rpad, printf, format and bitstring hold
# the process until it is killed; repeat does so over many rows, whose texts DuckDB's memory limit does not
# count. Lists it counts, and gives up at once. bar, to_base, equi_width_bins and the aggregates that keep n
# values have bounds of their own.
SIZED = MappingProxyType(
    {
        "repeat": Sized(1, multiplies=True),
        "lpad": Sized(1),
        "rpad": Sized(1),
        "bitstring": Sized(1),
        "list_resize": Sized(1, multiplies=True),
        "array_resize": Sized(1, multiplies=True),
        "reservoir_quantile": Sized(2, is_optional=True),
    }
)
FORMATS = MappingProxyType({"printf": FormatStyle.PRINTF, "format": FormatStyle.BRACES})
SERIES = word_set("generate_series range")

# Reach outside the database, run text as SQL or change its state. No operator's list makes them harmless.
FORBIDDEN = word_set(
    """
    arrow_scan arrow_scan_dumb checkpoint create_external_resource deregister_external_resource
    destroy_external_resource disable_logging disable_profiling duckdb_extensions duckdb_external_file_cache
    duckdb_external_resources duckdb_logs duckdb_secrets enable_logging enable_profiling
    force_checkpoint from_substrait getenv glob histogram_values json_execute_serialized_sql
    json_serialize_plan pandas_scan parquet_bloom_probe parquet_file_metadata parquet_full_metadata
    parquet_kv_metadata parquet_metadata parquet_scan parquet_schema python_arrow_scan python_map_function
    query query_table read_blob read_csv read_csv_auto read_duckdb read_json read_json_auto
    read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects read_parquet
    read_single_csv_file read_single_json_file read_single_parquet_file read_text read_xlsx
    register_external_resource register_external_resource_type seq_scan setval sniff_csv
    sql_auto_complete truncate_duckdb_logs which_secret write_log
    """
)
