"""Words that are more than a name somewhere: to one of the engines, to sqlglot, or to a rule of ours. Pure.

`guard.plain_reads` takes none of them for the name of a table or a column, so it needs no knowledge of what
each of them means where. `tests/sql/guard/test_plain_reads.py` holds the list against the installed sqlglot
and our dialects. Left out on purpose, because tables are full of such columns: `name`, `date`, `status` and
the like, which that test tries in every place.
"""

from callgate.sql.guard.tokens import word_set

SPECIAL_WORDS = frozenset(
    word.upper()
    for word in word_set(
        """
        _ _armscii8 _ascii _big5 _binary _cp1250 _cp1251 _cp1256 _cp1257 _cp850 _cp852 _cp866 _cp932 _dec8
        _eucjpms _euckr _gb18030 _gb2312 _gbk _geostd8 _greek _hebrew _hp8 _join _keybcs2 _koi8r _koi8u
        _latin1 _latin2 _latin5 _latin7 _macce _macroman _sjis _swe7 _tis620 _ucs2 _ujis _utf16 _utf16le
        _utf32 _utf8 _utf8mb3 _utf8mb4 abort absent access add after against aggregate algorithm alias all
        allowed_values alter always amp analyse analyze and anti any any_value apply approx
        approx_quantile array array_agg array_append array_cat array_concat array_distinct array_intersect
        array_intersection array_prepend array_remove array_reverse_sort array_slice array_sort arrayagg
        as asc ascii asof asymmetric async at attach authorization auto auto_increment autoincrement
        autotemp avro backup before begin bernoulli between bigdecimal bigint bignum bignumeric bigserial
        binary binding binlog bit bit_and bit_count bit_or bit_xor bitstring blob block blockcompression
        bool boolean both bpchar breadth btree btrim bucket buckets buffer_usage_limit by byte bytea bytes
        cache call called caller cascade case casespecific cast catalog ceil chain chained change changes
        channel char character charindex charset check checkpoint checksum chr clob clone close cluster
        clustered coalesce collate collation collection column columns columnstore comment commit
        committed compensation complete compound compress compute concat concat_ws concurrent concurrently
        conflict connect connect_by_root connection constraint constraints contained contains context
        continue conversion convert convert_timezone convert_tz copy copy_options corresponding cpu create
        credential credentials cross cstring cube curdate current current_catalog current_date
        current_localtimestamp current_role current_schema current_time current_timestamp current_user
        curtime cycle dangling data_consistency_check data_deletion database databases datablocksize
        date_add date_diff date_format date_part date_sub date_to_date_str date_trunc datediff
        datemultirange daterange datetime datetrunc dayofmonth dayofweek dayofyear deallocate dec decfloat
        decimal decimal128 decimal256 decimal32 decimal64 declare decode default deferrable deferred
        define defined definer delayed delete delimited delimiter delta depth desc describe detach
        deterministic directed directory discard disconnect disk distance distinct distinctrow distkey
        distribute distributed diststyle div do double drop dual duplicate dynamic each editdist3 else
        empty encode encoding encryption end enforced engine engine_attribute engines enum environment
        ephemeral epoch epoch_ms error errors escape escaped estimate evalname even events evolution
        except excl exclude excluding exclusive exec execute exists expansion explain export extend
        extended external extract fail fallback false fast faults fetch fields file file_format fileformat
        files filestream_on fill filter filter_column final first fixed float float4 float8 floor flush fn
        following foo for force foreign format format_name format_options formatted freespace freeze from
        from_hex from_unixtime full fulltext function gap_fill generate_date_array generate_series
        generate_uuid generated geography geometry get get_bit get_current_time glob global grant grants
        greatest group group_concat grouping groups handler hash having help heap hex hidden high_priority
        histogram history history_retention_period history_table hosts hstore hugeint iam_role iceberg
        identity if ifnull ignore ilike immediate immutable import in include including increment index
        indexed inet information inherits initcap initially inline inner inout inpath input inputformat
        insert install instead instr int int1 int128 int16 int2 int256 int32 int4 int4multirange int4range
        int64 int8 int8multirange int8range integer interpolate intersect interval into invisible invoker
        io ipc is isnull isolated isolation items jaro_winkler_similarity join journal json json_agg
        json_array json_arrayagg json_exists json_extract json_extract_path json_extract_path_text
        json_extract_scalar json_extract_string json_group_array json_group_object json_keys json_object
        json_object_agg json_objectagg json_query json_scalar json_serialize json_table json_value jsonb
        jsonb_exists jsonb_object_agg kbytes keep key key_block_size keys kill kilobytes lambda language
        last lateral layout lazy leading least left leftpad length less levenshtein_less_equal lifetime
        like limit linear lines list list_append list_concat list_contains list_cosine_distance
        list_distance list_distinct list_filter list_has list_has_any list_max list_min list_prepend
        list_reverse_sort list_sort list_transform list_value listagg listen load loading local localtime
        localtimestamp locate lock locked locking log log10 log2 logged logical logs long longblob
        longtext longvarchar low_priority lower lpad ltrim macro make_date make_interval make_time
        make_timestamp maketime manual map master match matched matches materialized maximum maxvalue
        measures mediumblob mediumint mediumtext member memory merge merge_action mergeblockratio method
        minimum minvalue mod mode modifies modify modulus money monthname move multiset mutex names
        namespace national native natural nchar nearest nested never new next no no_write_to_binlog
        nocache nocycle noextend nokeep nomaxvalue nominvalue nonclustered none noorder norely normalize
        noscale noscan noshard not nothing notify notnull now nowait null nullable nullif nulls number
        numeric nummultirange numrange nvarchar nvarchar2 nvl object of off offline offset oid oids old
        omit on online only open openjson operator optimize option options or order ordinality others out
        outer outfile output outputformat over overflow overlaps overlay override overwrite owned page
        pandas parameter parser partial partition partitioned partitioned_by partitions passing past
        pattern per percent period persist persist_only persisted pivot pivot_longer pivot_wider placing
        plugins point position positional pragma preceding precision predicate prepare preserve primary
        prior privileges procedure processlist profile profiles properties protection purge qualify
        quantile quantile_cont quantile_disc query random range read reads real reassign recompress
        recursive ref references referencing refresh regclass regcollation regconfig regdictionary regexp
        regexp_extract regexp_extract_all regexp_matches regexp_replace regnamespace regoper regoperator
        regproc regprocedure regrole regtype reindex relaylog release rely remainder remote rename repair
        repeatable replace replica replicas replication reservoir reset resignal respect restart restrict
        retention_period return returning returns revoke right rightpad rlike rollback rollup row
        row_format rows rpad rtrim running safe_cast sample savepoint scalar scale schema schemabinding
        schemas scope_resolution search secondary_engine_attribute secure security seed select self semi
        sentinel separator sequence serde serial serializable session session_user set setof sets settings
        sha256 sha384 sha512 shallow shard share sharing short show shutdown signal signed similar
        similarity simple skip skip_locked slave smallint smallserial some sort sort_array sorted sortkey
        sounds spatial sql sql_big_result sql_buffer_result sql_cache sql_calc_found_rows sql_no_cache
        sql_small_result sql_tsi_ sqlite_version stable stage_copy_options stage_file_format start
        statement statistics std stddev step stop storage storage_integration stored str str_split
        str_split_regex str_to_date straight_join stream streaming strftime strict string string_agg
        string_split string_split_regex string_to_array stringagg strpos strptime struct struct_pack
        structure style subpartition substr substring summarize swap swaps switches symmetric sync system
        system_time system_user system_versioning table tables tablesample tablespace tag tags
        tblproperties temp temporary terminated text than then ties time time_bucket time_ns
        time_to_time_str timestamp timestamp_ltz timestamp_ms timestamp_ns timestamp_ntz timestamp_s
        timestamp_us timestampadd timestampdiff timestampltz timestampntz timestamptz timetz tinyblob
        tinyint tinytext to to_char to_date to_days to_hex to_timestamp today totals trailing transaction
        transform transient treat trigger triggers trim true truncate try_cast try_convert
        ts_or_ds_to_date_str tsmultirange tsrange tstzmultirange tstzrange ttl tuple ubigint uescape
        uhugeint uint uint128 uint256 uinteger unbounded uncache uncomitted unicode uninstall union unique
        unknown unlisten unlock unlogged unmatched unnest unpack unpivot unset unsigned update upper
        uppercase use user using usmallint utinyint uuid uuid_string vacuum valid validate values var
        var_map varbinary varchar varchar2 variable variables variadic variance variant varying vector
        verbose view view_metadata virtual visible volatile volume wait warehouse warnings weekofyear
        weeks weight_string when where while width_bucket window with within without work write xa xml
        xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
        xmlserialize xmltable xor zerofill zone
        """
    )
)
