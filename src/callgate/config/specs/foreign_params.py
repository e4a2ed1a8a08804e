"""Parameters in addresses that clouds and other programs hand out, and that mean nothing here. Pure.

Those that change nothing that Callgate does are ignored, with a note. Those whose effect somebody may rely on
are refused by name. Counterpart: `server_params` has those that are understood.
"""

from collections.abc import Mapping

_POOL = "Callgate keeps a pool of its own: see pool_size"
_STATEMENTS = "Callgate keeps no prepared statements"
_CHARSET = "Callgate always uses UTF-8"
_SCHEMA = "statements name tables with their schema"
_TIMES = "see timeout_s"
_VALUES = "Callgate shows values as the server writes them"
_DRIVER = "it only tells another program's driver how to work"
_POOLER = "a pooler in between is recognised by itself"
_KEEP_ALIVE = "Callgate keeps idle connections alive itself"


def _each(names: str, why: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), why)


# By their names in lower case.
_IGNORED: Mapping[str, str] = {
    **_each("pgbouncer supavisor", _POOLER),
    **_each(
        """connection_limit connectionlimit pool_timeout pool_size poolsize pool max_pool_size maxpoolsize
        min_pool_size minpoolsize pool_max_conns pool_min_conns pool_max_conn_lifetime
        pool_max_conn_idle_time pool_recycle pool_pre_ping pool_mode max_overflow waitforconnections
        queuelimit max_idle_connection_lifetime""",
        _POOL,
    ),
    **_each(
        """statement_cache_size statement_cache_capacity description_cache_capacity
        prepared_statement_cache_size prepared_statement_name_func prepared_statements preparethreshold
        prepare_threshold preparedstatementcachequeries preparedstatementcachesizemib cacheprepstmts
        prepstmtcachesize prepstmtcachesqllimit useserverprepstmts default_query_exec_mode autosave
        prefer_simple_protocol binary_parameters interpolateparams namedplaceholders""",
        _STATEMENTS,
    ),
    **_each(
        """client_encoding encoding charset characterencoding characterset useunicode use_unicode collation
        connectioncollation""",
        _CHARSET,
    ),
    **_each("schema currentschema search_path", _SCHEMA),
    **_each(
        """sockettimeout socket_timeout readtimeout read_timeout writetimeout write_timeout timeout
        statement_timeout command_timeout querytimeout""",
        _TIMES,
    ),
    **_each(
        """parsetime loc timezone time_zone servertimezone connectiontimezone datestrings supportbignumbers
        bignumberstrings decimalnumbers zerodatetimebehavior usejdbccomplianttimezoneshift
        uselegacydatetimecode forceconnectiontimezonetosession stringtype tinyint1isbit yearisdatetype
        columnswithalias""",
        _VALUES,
    ),
    **_each(
        """keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout tcpkeepalive
        autoreconnect reconnect""",
        _KEEP_ALIVE,
    ),
    **_each(
        """async_fallback rewritebatchedstatements rewritebatchedinserts allowmultiqueries multistatements
        multiplestatements allowpublickeyretrieval allownativepasswords allowcleartextpasswords
        allowoldpasswords checkconnliveness clientfoundrows maxallowedpacket local_infile
        allowloadlocalinfile enable_query_log profilesql donttrackopenresources defaultfetchsize
        defaultrowfetchsize sslsni sslcertmode sslcompression sslfactory gssencmode gsslib krbsrvname
        gssdelegation load_balance_hosts readonly authplugin auth_plugin autocommit tlsversion
        enabledtlsprotocols ssl_min_protocol_version ssl_max_protocol_version serverversion usecompression
        compress compression driver""",
        _DRIVER,
    ),
}
_UNCHECKED = "what it asks for would not be checked here"
_REFUSED: Mapping[str, str] = {
    **_each("sslcrl sslcrldir requirepeer require_auth requireauth serverrsapublickeyfile", _UNCHECKED),
    **_each("sslnegotiation", "TLS is asked for in PostgreSQL's usual way here"),
    **_each("hostaddr", "name the address in the place of the host"),
    **_each("replication", "only ordinary sessions are opened"),
    **_each("init_command sessionvariables read_default_file", "nothing is run or read at a login"),
}
# Values that ask for what is done here anyway.
_ALREADY_SO = {"sslnegotiation": ("postgres",), "replication": ("false", "off", "no", "0")}
KNOWN = (*_IGNORED, *_REFUSED)


def ignored_because(name: str, value: str) -> str | None:
    """Why this parameter changes nothing; None: it may matter."""
    if value.lower() in _ALREADY_SO.get(name.lower(), ()):
        return "it is so already"
    return _IGNORED.get(name.lower())


def refused_because(name: str) -> str | None:
    return _REFUSED.get(name.lower())
