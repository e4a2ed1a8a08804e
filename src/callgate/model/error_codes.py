"""Every error code, in one list. A code is a promise: once released it is never renamed or reused.

The same dotted string appears in the JSON-RPC error data, the REST problem body, the record, the page and
the terminal; docs/errors/<code>.md explains it (a test holds the list and the pages together).
The first word says who must act: caller, refused, upstream, source, setup; `bug` is us.

The numbers beside a code are the three mappings' data: JSON-RPC code, HTTP status, exit code of the
command line. JSON-RPC codes of our own are -31000 minus the HTTP status: the specification (2026-07-28,
basic, "Error Codes") asks new codes to stay outside -32768..-32000.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorCode:
    code: str
    summary: str
    rpc_code: int
    http_status: int
    exit_code: int

    @property
    def family(self) -> str:
        return self.code.partition(".")[0]


# JSON-RPC 2.0
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# MCP 2026-07-28
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022

ALL: dict[str, ErrorCode] = {}


def _code(code: str, summary: str, *, rpc: int, http: int, exit_code: int = 1) -> ErrorCode:
    entry = ErrorCode(code, summary, rpc, http, exit_code)
    assert code not in ALL, f"{code} is listed twice"
    ALL[code] = entry
    return entry


# --- the caller must change the request
CALLER_MALFORMED = _code(
    "caller.malformed", "The message is not valid JSON-RPC", rpc=INVALID_REQUEST, http=400
)
CALLER_BAD_JSON = _code("caller.bad_json", "The message is not valid JSON", rpc=PARSE_ERROR, http=400)
CALLER_TOO_LARGE = _code("caller.too_large", "The message is larger than the limit", rpc=-31413, http=413)
CALLER_UNKNOWN_METHOD = _code(
    "caller.unknown_method", "The method does not exist here", rpc=METHOD_NOT_FOUND, http=404
)
CALLER_NO_WORKSPACE = _code(
    "caller.no_workspace", "The folder of this client is not known", rpc=INVALID_PARAMS, http=400
)
CALLER_UNKNOWN_TOOL = _code(
    "caller.unknown_tool", "No tool of that name is offered", rpc=INVALID_PARAMS, http=404, exit_code=2
)
CALLER_UNKNOWN_PROMPT = _code(
    "caller.unknown_prompt", "No prompt of that name is offered", rpc=INVALID_PARAMS, http=404, exit_code=2
)
CALLER_UNKNOWN_RESOURCE = _code(
    "caller.unknown_resource", "No resource of that uri is offered", rpc=INVALID_PARAMS, http=404, exit_code=2
)
CALLER_UNKNOWN_SERVER = _code(
    "caller.unknown_server", "No server of that name is configured", rpc=INVALID_PARAMS, http=404, exit_code=2
)
CALLER_BAD_PARAMS = _code(
    "caller.bad_params", "The params do not fit the method", rpc=INVALID_PARAMS, http=400, exit_code=2
)
CALLER_BAD_ARGUMENTS = _code(
    "caller.bad_arguments",
    "The arguments do not fit the tool's input schema",
    rpc=INVALID_PARAMS,
    http=422,
    exit_code=2,
)
CALLER_NOT_INITIALIZED = _code(
    "caller.not_initialized", "A legacy client must send initialize first", rpc=INVALID_REQUEST, http=400
)
CALLER_UNKNOWN_SESSION = _code(
    "caller.unknown_session",
    "The session does not exist, has ended, or is not yours",
    rpc=INVALID_REQUEST,
    http=404,
)
CALLER_UNSUPPORTED_VERSION = _code(
    "caller.unsupported_version",
    "The protocol version is not supported",
    rpc=UNSUPPORTED_PROTOCOL_VERSION,
    http=400,
)
CALLER_HEADER_MISMATCH = _code(
    "caller.header_mismatch", "A header disagrees with the body", rpc=HEADER_MISMATCH, http=400
)
CALLER_NOT_ACCEPTABLE = _code(
    "caller.not_acceptable", "The Accept header rules out every answer", rpc=INVALID_REQUEST, http=406
)
CALLER_WRONG_CONTENT_TYPE = _code(
    "caller.wrong_content_type", "The body must be application/json", rpc=INVALID_REQUEST, http=415
)
CALLER_WRONG_HTTP_METHOD = _code(
    "caller.wrong_http_method", "This address does not take that HTTP method", rpc=INVALID_REQUEST, http=405
)
CALLER_NOT_FOUND = _code(
    "caller.not_found", "There is nothing at this address", rpc=INVALID_REQUEST, http=404
)
CALLER_AMBIGUOUS_ID = _code(
    "caller.ambiguous_id",
    "A part of an id fits more than one row of the record",
    rpc=INVALID_PARAMS,
    http=409,
    exit_code=2,
)
CALLER_CONFLICT = _code("caller.conflict", "The stream is already open", rpc=INVALID_REQUEST, http=409)
CALLER_STALE = _code(
    "caller.stale", "What was to be changed is not what it was any more", rpc=-31412, http=412
)
CALLER_NO_PRECONDITION = _code(
    "caller.no_precondition",
    "The request must say which state of the file it is meant for",
    rpc=INVALID_REQUEST,
    http=428,
)
CALLER_BAD_CONFIG = _code(
    "caller.bad_config", "The configuration would have problems", rpc=INVALID_PARAMS, http=422, exit_code=3
)
CALLER_REQUEST_STATE = _code(
    "caller.request_state",
    "The requestState cannot be resumed: forged, used, expired, or not yours",
    rpc=INVALID_PARAMS,
    http=400,
)
CALLER_MISSING_CAPABILITY = _code(
    "caller.missing_capability",
    "The server asks for something that the client did not declare as a capability",
    rpc=MISSING_CAPABILITY,
    http=400,
)
CALLER_UNANSWERED = _code(
    "caller.unanswered", "A question of the server was not answered in time", rpc=-31408, http=408
)
CALLER_NOT_REPLAYABLE = _code(
    "caller.not_replayable",
    "The call cannot be repeated: the record does not hold all of it",
    rpc=INVALID_PARAMS,
    http=409,
    exit_code=2,
)
CALLER_TOO_MANY_READERS = _code(
    "caller.too_many_readers", "Too many clients already read the event stream", rpc=-31429, http=429
)
CALLER_HTTP_VERSION = _code(
    "caller.http_version", "This version of HTTP is not supported", rpc=INVALID_REQUEST, http=505
)
CALLER_TRANSFER_CODING = _code(
    "caller.transfer_coding",
    "The body uses a transfer coding that is not supported",
    rpc=INVALID_REQUEST,
    http=501,
)
CALLER_TOO_MANY_READS = _code(
    "caller.too_many_reads", "Too many reads of the record are already running", rpc=-31429, http=429
)
CALLER_TIMEOUT = _code("caller.timeout", "The request did not arrive in time", rpc=INVALID_REQUEST, http=408)

# --- we will not
REFUSED_READ_ONLY = _code(
    "refused.read_only",
    "The statement would write, and the source is read-only",
    rpc=-31403,
    http=403,
    exit_code=6,
)
REFUSED_FORBIDDEN = _code(
    "refused.forbidden", "The statement is never allowed, in any mode", rpc=-31403, http=403, exit_code=6
)
REFUSED_UNCLEAR = _code(
    "refused.unclear",
    "The statement could not be understood well enough to be let through",
    rpc=-31403,
    http=403,
    exit_code=6,
)
REFUSED_FUNCTION = _code(
    "refused.function",
    "The statement calls a function that is not on the allow-list",
    rpc=-31403,
    http=403,
    exit_code=6,
)
REFUSED_DESTRUCTIVE = _code(
    "refused.destructive",
    "The tool may destroy something, and the policy denies such tools",
    rpc=-31403,
    http=403,
    exit_code=6,
)
REFUSED_LEFT_OUT = _code(
    "refused.left_out",
    "The configuration leaves this tool out",
    rpc=-31403,
    http=403,
    exit_code=6,
)
REFUSED_UNRECORDED = _code(
    "refused.unrecorded",
    "Calls are refused while they cannot be recorded",
    rpc=-31503,
    http=503,
    exit_code=6,
)
REFUSED_OVERLOADED = _code(
    "refused.overloaded",
    "The gateway has reached one of its own limits and accepts no more at the moment",
    rpc=-31503,
    http=503,
    exit_code=6,
)
REFUSED_ORIGIN = _code(
    "refused.origin", "The request comes from a web page of another origin", rpc=-31403, http=403, exit_code=6
)
REFUSED_HOST = _code(
    "refused.host", "The Host header names another machine", rpc=-31421, http=421, exit_code=6
)
REFUSED_NOT_LOCAL = _code(
    "refused.not_local",
    "What starts programs or reads files is taken from the gateway's own machine only",
    rpc=-31403,
    http=403,
    exit_code=6,
)
REFUSED_ROLE = _code("refused.role", "The caller's role may not do this", rpc=-31403, http=403, exit_code=6)
REFUSED_UNAUTHENTICATED = _code(
    "refused.unauthenticated",
    "A bearer token is needed, and none or a wrong one was given",
    rpc=-31401,
    http=401,
    exit_code=6,
)
REFUSED_HOP = _code(
    "refused.hop",
    "A request between replicas is not genuine, or not for this one",
    rpc=-31403,
    http=403,
    exit_code=6,
)
REFUSED_TOO_MANY_GUESSES = _code(
    "refused.too_many_guesses",
    "The token is wrong, and so were many others from this address",
    rpc=-31429,
    http=429,
    exit_code=6,
)

# --- a server behind us failed
UPSTREAM_UNAVAILABLE = _code(
    "upstream.unavailable", "The server is not reachable at the moment", rpc=-31502, http=502, exit_code=5
)
UPSTREAM_EXITED = _code("upstream.exited", "The server's process ended", rpc=-31502, http=502, exit_code=5)
UPSTREAM_TIMEOUT = _code(
    "upstream.timeout", "The server did not answer in time", rpc=-31504, http=504, exit_code=5
)
UPSTREAM_STARTING = _code(
    "upstream.starting", "The server is still starting", rpc=-31503, http=503, exit_code=5
)
UPSTREAM_BUSY = _code(
    "upstream.busy", "The server takes no more requests at the moment", rpc=-31503, http=503, exit_code=5
)
UPSTREAM_SESSION_LOST = _code(
    "upstream.session_lost",
    "The server forgot our session while the request was under way",
    rpc=-31502,
    http=502,
    exit_code=5,
)
UPSTREAM_TOO_LARGE = _code(
    "upstream.too_large", "The server sent a message larger than the limit", rpc=-31502, http=502, exit_code=5
)
UPSTREAM_UNAUTHORIZED = _code(
    "upstream.unauthorized", "The server wants credentials we do not have", rpc=-31502, http=502, exit_code=5
)
UPSTREAM_OTHER_ERA = _code(
    "upstream.other_era",
    "The server speaks only the other era of the protocol",
    rpc=-31501,
    http=501,
    exit_code=5,
)
UPSTREAM_REPLICA_LOST = _code(
    "upstream.replica_lost", "The replica that served this request ended", rpc=-31502, http=502, exit_code=5
)
UPSTREAM_REPLICA_UNREACHABLE = _code(
    "upstream.replica_unreachable",
    "The replica that this session belongs to cannot be reached",
    rpc=-31503,
    http=503,
    exit_code=5,
)
UPSTREAM_FAILED = _code(
    "upstream.failed", "The server answered with something that is not MCP", rpc=-31502, http=502, exit_code=5
)

# --- a database failed
SOURCE_UNAVAILABLE = _code(
    "source.unavailable", "The database is not reachable at the moment", rpc=-31502, http=502, exit_code=5
)
SOURCE_SYNTAX = _code("source.syntax", "The database did not understand the statement", rpc=-31422, http=422)
SOURCE_UNKNOWN_TABLE = _code("source.unknown_table", "The table does not exist", rpc=-31422, http=422)
SOURCE_UNKNOWN_COLUMN = _code("source.unknown_column", "The column does not exist", rpc=-31422, http=422)
SOURCE_UNKNOWN_DATABASE = _code(
    "source.unknown_database", "The database or schema does not exist", rpc=-31422, http=422
)
SOURCE_ACCESS_DENIED = _code(
    "source.access_denied", "The database account lacks the right to do that", rpc=-31403, http=403
)
SOURCE_CONSTRAINT = _code("source.constraint", "The row breaks a rule of its table", rpc=-31409, http=409)
SOURCE_LOCKED = _code(
    "source.locked", "Another session holds a lock that the statement needs", rpc=-31409, http=409
)
SOURCE_TIMEOUT = _code(
    "source.timeout", "The statement took longer than the limit and was stopped", rpc=-31504, http=504
)
SOURCE_FAILED = _code("source.failed", "The database answered with an error", rpc=-31502, http=502)

# --- the operator must change something
SETUP_CONFIG = _code(
    "setup.config", "The configuration has problems", rpc=INTERNAL_ERROR, http=500, exit_code=3
)
SETUP_CONFIG_LOCKED = _code(
    "setup.config_locked",
    "The configuration file cannot be written",
    rpc=INTERNAL_ERROR,
    http=409,
    exit_code=3,
)
SETUP_LOCK = _code(
    "setup.lock", "callgate.lock cannot be read or written", rpc=INTERNAL_ERROR, http=409, exit_code=3
)
SETUP_PORT = _code(
    "setup.port",
    "The address is already in use, or may not be used",
    rpc=INTERNAL_ERROR,
    http=500,
    exit_code=4,
)
SETUP_SANDBOX = _code(
    "setup.sandbox",
    "A server cannot be confined as its entry says",
    rpc=-31502,
    http=502,
    exit_code=3,
)
SETUP_STATE_FOLDER = _code(
    "setup.state_folder", "The state folder cannot be used", rpc=INTERNAL_ERROR, http=500
)
SETUP_STATE_DB = _code(
    "setup.state_db", "The gateway's own database cannot be used", rpc=-31503, http=503, exit_code=3
)
SETUP_STATE_NEWER = _code(
    "setup.state_newer",
    "The gateway's own database is of a newer Callgate",
    rpc=-31503,
    http=503,
    exit_code=3,
)
SETUP_SECRET = _code(
    "setup.secret", "A secret cannot be read or kept", rpc=INTERNAL_ERROR, http=500, exit_code=3
)
SETUP_ENGINE = _code(
    "setup.engine",
    "This version does not support that database engine",
    rpc=INTERNAL_ERROR,
    http=501,
    exit_code=3,
)
SETUP_NOT_RUNNING = _code(
    "setup.not_running", "No gateway is running for this state folder", rpc=-31502, http=502, exit_code=5
)
SETUP_RECORD_OFF = _code("setup.record_off", "Calls are not recorded here", rpc=-31503, http=503)
SETUP_RECORD_ELSEWHERE = _code(
    "setup.record_elsewhere", "Another process holds the record's store", rpc=-31503, http=503
)
SETUP_STORE_UNREACHABLE = _code(
    "setup.store_unreachable", "The record's database cannot be used now", rpc=-31503, http=503
)
SETUP_STORE_SCHEMA = _code(
    "setup.store_schema", "The record's tables cannot be made or used", rpc=-31503, http=503
)
SETUP_STORE_NEWER = _code(
    "setup.store_newer", "The record's tables are of a newer Callgate", rpc=-31503, http=503, exit_code=3
)
SETUP_ARCHIVE = _code("setup.archive", "The record's archive cannot be used now", rpc=-31503, http=503)

# --- us
BUG_INTERNAL = _code("bug.internal", "Callgate itself failed: please report it", rpc=INTERNAL_ERROR, http=500)
