"""PostgreSQL's functions that are known to reach outside, to change something, or to run a text as SQL.

An allow-list needs no such list for calls. Attribute notation does: `t.pg_read_file` and `(2.0).pg_sleep`
call functions without a parenthesis, and only the name tells them from a column. No `allow_functions` of an
operator makes those in FORBIDDEN harmless.
"""

from callgate.sql.guard.tokens import word_set

# Files of the server, other servers, other sessions, its configuration, its log, and text that is run as SQL.
FORBIDDEN = word_set(
    """
    pg_read_file pg_read_file_old pg_read_binary_file pg_ls_dir pg_ls_logdir pg_ls_waldir pg_ls_tmpdir
    pg_ls_archive_statusdir pg_ls_logicalmapdir pg_ls_logicalsnapdir pg_ls_replslotdir pg_ls_summariesdir
    pg_stat_file pg_current_logfile pg_config pg_file_read pg_file_rename pg_file_sync pg_file_unlink
    pg_file_write pg_file_length pg_logdir_ls pg_logfile_rotate pg_rotate_logfile pg_rotate_logfile_old
    pg_hba_file_rules pg_ident_file_mappings pg_show_all_file_settings pg_control_checkpoint pg_control_init
    pg_control_recovery pg_control_system lo_import lo_export lo_creat lo_create lo_unlink lo_put lo_get
    lo_from_bytea lo_open lo_close lo_lseek lo_lseek64 lo_tell lo_tell64 lo_truncate lo_truncate64 loread
    lowrite lo_manage lo_oid dblink dblink_connect dblink_connect_u dblink_disconnect dblink_exec dblink_open
    dblink_fetch dblink_close dblink_send_query dblink_get_result dblink_cancel_query dblink_get_notify
    dblink_build_sql_insert dblink_build_sql_update dblink_build_sql_delete dblink_current_query
    dblink_error_message dblink_get_connections dblink_get_pkey dblink_is_busy postgres_fdw_disconnect
    postgres_fdw_disconnect_all postgres_fdw_get_connections query_to_xml query_to_xmlschema
    query_to_xml_and_xmlschema cursor_to_xml cursor_to_xmlschema table_to_xml table_to_xmlschema
    table_to_xml_and_xmlschema schema_to_xml schema_to_xmlschema schema_to_xml_and_xmlschema database_to_xml
    database_to_xmlschema database_to_xml_and_xmlschema xpath_table xslt_process ts_stat ts_rewrite crosstab
    crosstab2 crosstab3 crosstab4 connectby set_config pg_reload_conf
    pg_terminate_backend pg_cancel_backend pg_log_backend_memory_contexts pg_notify pg_promote pg_switch_wal
    pg_switch_xlog pg_create_restore_point pg_export_snapshot pg_backup_start pg_backup_stop pg_start_backup
    pg_stop_backup pg_wal_replay_pause pg_wal_replay_resume pg_logical_emit_message
    pg_logical_slot_get_changes pg_logical_slot_get_binary_changes pg_logical_slot_peek_changes
    pg_logical_slot_peek_binary_changes pg_create_logical_replication_slot pg_create_physical_replication_slot
    pg_copy_logical_replication_slot pg_copy_physical_replication_slot pg_drop_replication_slot
    pg_replication_slot_advance pg_sync_replication_slots pg_replication_origin_advance
    pg_replication_origin_create pg_replication_origin_drop pg_replication_origin_oid
    pg_replication_origin_progress pg_replication_origin_session_is_setup
    pg_replication_origin_session_progress pg_replication_origin_session_reset
    pg_replication_origin_session_setup pg_replication_origin_xact_reset pg_replication_origin_xact_setup
    pg_show_replication_origin_status pg_import_system_collations pg_extension_config_dump pg_nextoid
    pg_stop_making_pinned_objects binary_upgrade_create_empty_extension binary_upgrade_set_missing_value
    binary_upgrade_set_next_array_pg_type_oid binary_upgrade_set_next_heap_pg_class_oid
    binary_upgrade_set_next_heap_relfilenode binary_upgrade_set_next_index_pg_class_oid
    binary_upgrade_set_next_index_relfilenode binary_upgrade_set_next_multirange_array_pg_type_oid
    binary_upgrade_set_next_multirange_pg_type_oid binary_upgrade_set_next_pg_authid_oid
    binary_upgrade_set_next_pg_enum_oid binary_upgrade_set_next_pg_tablespace_oid
    binary_upgrade_set_next_pg_type_oid binary_upgrade_set_next_toast_pg_class_oid
    binary_upgrade_set_next_toast_relfilenode binary_upgrade_set_record_init_privs
    binary_upgrade_add_sub_rel_state binary_upgrade_logical_slot_has_caught_up
    binary_upgrade_replorigin_advance heap_force_freeze
    heap_force_kill pg_truncate_visibility_map get_raw_page plpgsql_call_handler plpgsql_validator
    fmgr_c_validator fmgr_internal_validator fmgr_sql_validator
    """
)
# Change or hold something smaller: time, locks, counters, sequences, caches, this session.
REFUSED = FORBIDDEN | word_set(
    """
    pg_sleep pg_sleep_for pg_sleep_until setval setseed set_limit pg_advisory_lock pg_advisory_lock_shared
    pg_advisory_unlock pg_advisory_unlock_all pg_advisory_unlock_shared pg_advisory_xact_lock
    pg_advisory_xact_lock_shared pg_try_advisory_lock pg_try_advisory_lock_shared pg_try_advisory_xact_lock
    pg_try_advisory_xact_lock_shared txid_current txid_status pg_current_xact_id pg_xact_status
    pg_last_committed_xact pg_xact_commit_timestamp_origin pg_get_multixact_members currtid2
    brin_summarize_new_values brin_summarize_range brin_desummarize_range gin_clean_pending_list amvalidate
    pg_stat_reset pg_stat_reset_shared pg_stat_reset_single_table_counters pg_stat_reset_backend_stats
    pg_stat_reset_single_function_counters pg_stat_reset_slru pg_stat_reset_replication_slot
    pg_stat_reset_subscription_stats pg_stat_clear_snapshot pg_stat_force_next_flush pg_stat_have_stats
    pg_stat_statements_reset pg_stat_get_recovery_prefetch pg_stat_get_wal_receiver pg_stat_get_wal_senders
    pg_stat_get_xact_blocks_fetched pg_stat_get_xact_blocks_hit pg_stat_get_xact_function_calls
    pg_stat_get_xact_function_self_time pg_stat_get_xact_function_total_time pg_stat_get_xact_numscans
    pg_stat_get_xact_tuples_deleted pg_stat_get_xact_tuples_fetched pg_stat_get_xact_tuples_hot_updated
    pg_stat_get_xact_tuples_inserted pg_stat_get_xact_tuples_returned pg_stat_get_xact_tuples_updated
    pg_get_backend_memory_contexts pg_get_shmem_allocations pg_get_wal_resource_managers
    pg_isolation_test_session_is_blocked pg_prepared_xact pg_prewarm autoprewarm_dump_now
    autoprewarm_start_worker bt_index_check bt_index_parent_check verify_heapam pg_visibility pgrowlocks
    pg_stat_get_io pg_log_standby_snapshot pg_get_wal_summarizer_state pg_available_wal_summaries
    pg_wal_summary_contents pgstattuple pgstatindex pgstatginindex pgstathashindex pgstattuple_approx
    pg_get_shmem_allocations_numa pg_get_aios pg_get_loaded_modules pg_get_sequence_data pg_get_wait_events
    pg_stat_get_backend_io pg_stat_get_backend_wal pg_stat_get_xact_tuples_newpage_updated
    pg_restore_relation_stats pg_clear_relation_stats pg_restore_attribute_stats pg_clear_attribute_stats
    """
)
