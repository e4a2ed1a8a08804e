"""DuckDB's statements that the parser cannot judge, as small strict grammars. Pure."""

import re

from callgate.sql.engines.duckdb.dialect.file_names import check_names
from callgate.sql.guard.dialect import Fault, FormMatch, Tokens
from callgate.sql.guard.phrases import match_phrase
from callgate.sql.guard.tokens import TokenKind, word_set

# The names of DuckDB's settings (`duckdb_settings()` of 2.0): `SHOW name` tells a setting's value, and with
# any other name describes the table: only tables are shown.
SETTINGS = word_set(
    """
    access_mode active_grammar_extensions allocator_background_threads
    allocator_bulk_deallocation_flush_threshold allocator_flush_threshold allow_community_extensions
    allow_extension_repositories allow_extensions_metadata_mismatch allow_parser_override_extension
    allow_persistent_secrets allow_unredacted_secrets allow_unsigned_extensions allowed_configs
    allowed_directories allowed_paths approximate_join_order_threshold arrow_large_buffer_size
    arrow_lossless_conversion arrow_output_list_view arrow_output_version asof_loop_join_threshold
    async_threads auto_checkpoint_skip_wal_threshold autoinstall_extension_repository
    autoinstall_known_extensions autoload_known_extensions binary_as_string block_allocator_memory
    cache_local_files calendar catalog_error_max_schemas checkpoint_on_detach checkpoint_threshold
    current_dialect current_transaction_invalidation_policy custom_extension_repository custom_user_agent
    debug_checkpoint_scan_sleep_ms default_block_size default_collation default_null_order default_order
    default_secret_storage default_transaction_invalidation_policy delim_join_as_cte
    dialect_compatibility_mode disable_database_invalidation disable_parquet_prefetching
    disable_timestamptz_casts disabled_compression_methods disabled_filesystems disabled_log_types
    disabled_optimizers duckdb_api dynamic_or_filter_threshold enable_external_access
    enable_external_file_cache enable_fsst_vectors enable_geoparquet_conversion enable_http_metadata_cache
    enable_logging enable_macro_dependencies enable_optimistic_write enable_optimizer enable_profiling
    enable_progress_bar enable_progress_bar_print enable_view_dependencies enabled_log_types
    error_on_division_by_zero errors_as_json experimental_metadata_reuse explain_output
    extension_directories extension_repository_directory external_file_cache_local_max_block_size
    external_file_cache_remote_max_block_size external_file_cache_remote_min_block_size
    external_file_cache_request_sizing external_file_cache_spill external_threads file_search_path
    force_column_metadata_reuse force_compression fsync_mode geometry_minimum_shredding_size
    home_directory http_client_pool_capacity http_proxy http_proxy_password http_proxy_username
    ieee_floating_point_ops ignore_unknown_crs immediate_transaction_mode index_scan_max_count
    index_scan_percentage initial_column_segment_size integer_division json_geometry_format
    late_materialization_max_rows legacy_disable_null_type lock_configuration log_query_path logging_level
    logging_mode logging_storage max_execution_time max_expression_depth max_memory
    max_streaming_buffer_size max_temp_directory_size max_vacuum_tasks memory_limit merge_join_threshold
    nested_loop_join_threshold null_order operator_memory_limit order_by_non_integer_literal
    ordered_aggregate_threshold pandas_analyze_sample parquet_metadata_cache parquet_prefetch_column_gap
    partitioned_write_flush_threshold partitioned_write_max_open_files password perfect_ht_threshold
    pin_threads pivot_filter_threshold pivot_limit prefer_range_joins prefetch_all_parquet_files
    preserve_identifier_case preserve_insertion_order profile_output profiling_coverage profiling_output
    profiling_renderer_settings progress_bar_time python_enable_replacements python_scan_all_frames
    read_ahead_depth redact_http_logs regex_match_operator_semantics
    scalar_subquery_error_on_multiple_rows scheduler_process_partial schema search_path secret_directory
    show_behavior standard_vector_size storage_block_prefetch storage_compatibility_version
    streaming_buffer_size table_function_identifier_conversion temp_directory temp_file_encryption threads
    timezone tracked_metrics user username validate_external_file_cache variant_minimum_shredding_size
    wal_autocheckpoint wal_autocheckpoint_entries warnings_as_errors worker_threads
    write_buffer_row_group_count write_buffer_row_group_memory_limit zstd_min_string_length
    """
)


# Those that tell of folders, files, accounts or credentials: not by their name.
_TELLING = re.compile(r"director|file|password|path|prox|repositor|secret|user")

EXPLAIN_HINT = "Explain a query: EXPLAIN SELECT …, or EXPLAIN ANALYZE SELECT … to run it and see the times."
_SHOW_HINT = "Use SHOW TABLES, SHOW ALL TABLES, SHOW SCHEMAS, SHOW DATABASES or DESCRIBE table_name."
_PRAGMA_HINT = "Use PRAGMA table_info('table_name'), PRAGMA show_tables or PRAGMA version."

_EXPLAIN = (
    "EXPLAIN ( {ANALYZE | ANALYSE} [, FORMAT name] ) statement",
    "EXPLAIN ( FORMAT name [, {ANALYZE | ANALYSE}] ) statement",
    "EXPLAIN [ANALYZE | ANALYSE] statement",
)
_SHOW = ("SHOW [ALL] TABLES", "SHOW [ALL]", "SHOW TABLES {FROM | IN} table", "SHOW {DATABASES | SCHEMAS}")
_SETTING_HINT = "Name one that tells of no folder, file or account: current_setting('threads')."
_PRAGMA = (
    "PRAGMA {SHOW_TABLES | SHOW_TABLES_EXPANDED | SHOW_DATABASES | VERSION | COLLATIONS | DATABASE_SIZE}",
    "PRAGMA {TABLE_INFO | STORAGE_INFO | SHOW} ( value )",
)


def explain(tokens: Tokens) -> FormMatch | Fault:
    """Only reads, with and without ANALYZE: `EXPLAIN ANALYZE INSERT …` inserts."""
    found = match_phrase(_EXPLAIN, tokens)
    if found is None:
        return Fault("explain", "this EXPLAIN could not be understood.", EXPLAIN_HINT)
    return FormMatch(reads=(found.statement,))


def describe(tokens: Tokens) -> FormMatch | Fault:
    """`DESCRIBE [TABLE] name`, `SUMMARIZE name`, or either with a query behind."""
    verb = tokens[0].word
    if len(tokens) > 1 and tokens[1].kind is TokenKind.STRING:
        return check_names((tokens[1].name,)) or Fault(
            "describe", f"{verb} takes a table's name, not a text.", f"Write {verb} table_name."
        )
    found = match_phrase((f"{verb} [TABLE] table",), tokens)
    if found is not None:
        return check_names(found.tables) or FormMatch(tables=found.tables)
    if len(tokens) == 1:
        if verb in ("DESCRIBE", "DESC"):
            return FormMatch()  # all tables
        return Fault("describe", f"{verb} needs a table or a query.", f"Write {verb} table_name.")
    return FormMatch(reads=(tokens[1:],))


def show(tokens: Tokens) -> FormMatch | Fault:
    if match_phrase(_SHOW, tokens) is not None:
        return FormMatch()
    found = match_phrase(("SHOW table",), tokens)
    if found is None or found.tables[0].lower() in SETTINGS or found.tables[0].lower() == "variables":
        return Fault("show", "only SHOW statements about tables are allowed.", _SHOW_HINT)
    return check_names(found.tables) or FormMatch(tables=found.tables)


def pragma(tokens: Tokens) -> FormMatch | Fault:
    if match_phrase(_PRAGMA, tokens) is None:
        return Fault(
            "pragma", "this PRAGMA is not one of those that only read.", _PRAGMA_HINT, is_forbidden=True
        )
    if len(tokens) < 4:
        return FormMatch()
    return check_names((tokens[3].name,)) or FormMatch(tables=(tokens[3].name,))


def setting_fault(tokens: Tokens) -> Fault | None:
    """`current_setting('threads')`: the name is written out, and there is no other way to call it."""
    for at, token in enumerate(tokens[:-1]):
        if token.name != "current_setting" or not tokens[at + 1].is_operator("("):
            continue
        inside = tokens[at + 2 : at + 4]
        is_written_out = (
            len(inside) == 2 and inside[0].kind is TokenKind.STRING and inside[1].is_operator(")")
        )
        if not is_written_out or (at and tokens[at - 1].is_operator(".")):
            return Fault(
                "setting_name", "the name of a setting must be written out in quotes.", _SETTING_HINT
            )
        if (fault := _fault_of_setting(inside[0].name)) is not None:
            return fault
    return None


def _fault_of_setting(name: str) -> Fault | None:
    if not _TELLING.search(name.lower()):
        return None
    reason = f"the setting {name[:60]} tells of a folder, a file or an account."
    return Fault("secret_setting", reason, _SETTING_HINT, is_forbidden=True)
