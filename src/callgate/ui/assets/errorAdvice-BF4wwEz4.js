var e=Object.assign({"../../../docs/errors/bug.internal.md":`# \`bug.internal\`

Callgate itself failed: please report it.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32603 | 500 | 1 |

## What it means
Callgate itself failed. The answer has no detail on purpose, because it could quote secrets. The log on stderr has
the traceback.

## What to do
Please report it with that traceback. Other calls are not affected.
`,"../../../docs/errors/caller.ambiguous_id.md":`# \`caller.ambiguous_id\`

A part of an id fits more than one row of the record.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32602 | 409 | 2 |

## What it means
Sessions and calls are found by their id, or by at least four characters of its beginning or its end. Here more than
one id has these characters.

## What to do
Write more characters of the id; the hint names the newest ids that fit. Ids begin with the time, so their ends
differ sooner. The page shows the first 13 characters, and copies the whole id.
`,"../../../docs/errors/caller.bad_arguments.md":`# \`caller.bad_arguments\`

The arguments do not fit the tool's input schema.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32602 | 422 | 2 |

## What it means
The arguments of a tool call do not fit the tool's input schema. On the command line: an option or an argument is
missing, unknown or of the wrong form.

## What to do
The message lists each argument and what is wrong with it; \`tools/list\` has the schema. On the command line,
\`callgate <command> --help\` shows what it takes.
`,"../../../docs/errors/caller.bad_config.md":`# \`caller.bad_config\`

The configuration would have problems.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32602 | 422 | 3 |

## What it means
A change of the configuration, or an entry that was to be tried, was checked as at a start, and has problems. Nothing
was written and nothing was opened.

## What to do
The answer lists all problems under \`problems\`, each with its key path and, where there is one, a hint. Correct them
and send the change again. The keys are in [configuration](../configuration.md).
`,"../../../docs/errors/caller.bad_json.md":`# \`caller.bad_json\`

The message is not valid JSON.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32700 | 400 | 1 |

## What it means
The bytes are not valid JSON, not UTF-8, or nested deeper than any real message.

## What to do
Check what builds the message. Over stdio a message is one line: a raw newline inside it cuts it in two.
`,"../../../docs/errors/caller.bad_params.md":"# `caller.bad_params`\n\nThe params do not fit the method.\n\n| JSON-RPC code | HTTP status | exit code |\n|---|---|---|\n| -32602 | 400 | 2 |\n\n## What it means\nThe `params` lack a member that the method needs: a tool's `name`, `protocolVersion` in `initialize`, or the `_meta`\nmembers that every 2026-07-28 request has.\n\n## What to do\nThe message names the member. A modern request needs `io.modelcontextprotocol/protocolVersion` and\n`io.modelcontextprotocol/clientCapabilities` in `params._meta`.\n","../../../docs/errors/caller.conflict.md":`# \`caller.conflict\`

The stream is already open.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 409 | 1 |

## What it means
A legacy session has one GET stream, and it is open on another connection.

## What to do
Close the other connection first, or start another session.
`,"../../../docs/errors/caller.header_mismatch.md":`# \`caller.header_mismatch\`

A header disagrees with the body.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32020 | 400 | 1 |

## What it means
A 2026-07-28 request repeats parts of its body in the headers \`MCP-Protocol-Version\`, \`Mcp-Method\` and \`Mcp-Name\`;
one of them is missing or has another value.

## What to do
Make the headers repeat the body. Proxies on the way must not change one without the other.
`,"../../../docs/errors/caller.http_version.md":`# \`caller.http_version\`

This version of HTTP is not supported.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 505 | 1 |

## What it means
The first line of the request names a version other than HTTP/1.1 or HTTP/1.0. Callgate does not speak HTTP/0.9.
HTTP/2 and HTTP/3 need a proxy in front of it.

## What to do
Send HTTP/1.1. A reverse proxy that speaks HTTP/2 to clients must speak HTTP/1.1 to Callgate
(\`proxy_http_version 1.1\` in nginx).
`,"../../../docs/errors/caller.malformed.md":`# \`caller.malformed\`

The message is not valid JSON-RPC.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 400 | 1 |

## What it means
The message is JSON, but not a JSON-RPC 2.0 request, notification or response; or the HTTP request around it cannot
be read; or an id is used that is still open.

## What to do
Send one object with \`"jsonrpc": "2.0"\`, a string or integer \`id\` that is not in use, a \`method\` and an object as
\`params\`. Only protocol version 2025-03-26 has batches; in all others send each message by itself.
`,"../../../docs/errors/caller.missing_capability.md":`# \`caller.missing_capability\`

The server asks for something that the client did not declare as a capability.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32021 | 400 | 1 |

## What it means
The tool, prompt or resource needs an answer from the client (elicitation, sampling or roots). This client did not
declare the capability, and the gateway never invents one. \`requiredCapabilities\` in the error's data names it.
Or the server shows the tool only to clients that declare the capability, so it is not in this client's list.

## What to do
Use a client that declares the capability, or a tool that does not ask. With \`isolation = "shared"\` for a legacy
server no client can be asked: remove that setting.
`,"../../../docs/errors/caller.no_precondition.md":`# \`caller.no_precondition\`

The request must say which state of the file it is meant for.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 428 | 1 |

## What it means
\`PATCH /api/v1/config\` came without the header \`If-Match\`. It says which state of \`callgate.toml\` the change is meant
for, so that two people who edit at the same time do not undo each other's work.

## What to do
Send the \`ETag\` of \`GET /api/v1/config\` as \`If-Match\`.
`,"../../../docs/errors/caller.no_workspace.md":`# \`caller.no_workspace\`

The folder of this client is not known.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32602 | 400 | 1 |

## What it means
The server has \`cwd = "@workspace"\`: it runs [in the folder of its
client](../servers.md#a-server-in-the-folder-of-its-client). This client did not name one, or what it named is not an
existing folder of the machine on which Callgate runs, or the client is on another machine.

## What to do
Use a client that declares roots, start \`callgate stdio\` in the folder, or let the client send the header
\`X-Callgate-Workspace\` with an absolute path. For clients on other machines give the server a fixed \`cwd\`.
`,"../../../docs/errors/caller.not_acceptable.md":`# \`caller.not_acceptable\`

The Accept header rules out every answer.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 406 | 1 |

## What it means
The \`Accept\` header of an MCP POST does not allow both kinds of answer.

## What to do
Send \`Accept: application/json, text/event-stream\`.
`,"../../../docs/errors/caller.not_found.md":`# \`caller.not_found\`

There is nothing at this address.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 404 | 1 |

## What it means
There is nothing at this address.

## What to do
Check the address. The MCP endpoint is \`/mcp\`, the web page is \`/\`, and \`/api/v1/openapi.json\` lists the API.
`,"../../../docs/errors/caller.not_initialized.md":`# \`caller.not_initialized\`

A legacy client must send initialize first.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 400 | 1 |

## What it means
A client of the handshake era sent a request before \`initialize\`, or without its \`Mcp-Session-Id\` header.

## What to do
Send \`initialize\` first. Over HTTP repeat the \`Mcp-Session-Id\` header of its answer on every request.
`,"../../../docs/errors/caller.not_replayable.md":`# \`caller.not_replayable\`

The call cannot be repeated: the record does not hold all of it.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32602 | 409 | 2 |

## What it means
The arguments of the recorded call contained a secret, which was replaced by \`***\` before anything was written, or
they were longer than \`[record] max_body\`. The original is not in the record, so it cannot be sent again.

## What to do
Send new arguments: \`POST /api/v1/tool-calls/{id}/replay\` with \`{"arguments": {…}}\`, or
\`callgate replay ID key=value…\`.
`,"../../../docs/errors/caller.request_state.md":`# \`caller.request_state\`

The requestState cannot be resumed: forged, used, expired, or not yours.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32602 | 400 | 1 |

## What it means
A modern client's call was answered with \`resultType: "input_required"\`, because a server of the legacy era asked
something. The retry came with a \`requestState\` that belongs to no parked call. The message says which
case it is: it was not made by this gateway, belongs to another principal or another request, was already used, has
expired (\`[server] answer_timeout_s\`, 10 minutes by default), or the gateway was restarted since.

## What to do
Make the call again, without \`requestState\` and \`inputResponses\`. Answer within the time, with the exact
\`requestState\` of the last answer and the same params, once.
`,"../../../docs/errors/caller.stale.md":`# \`caller.stale\`

What was to be changed is not what it was any more.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31412 | 412 | 1 |

## What it means
Somebody else changed the file between reading and writing it. Nothing was written.

## What to do
Look at what it says now, and make the change again.
`,"../../../docs/errors/caller.timeout.md":`# \`caller.timeout\`

The request did not arrive in time.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 408 | 1 |

## What it means
A request began to arrive, but was not complete within 75 seconds.

## What to do
Send the whole request at once. On a slow line, send smaller bodies.
`,"../../../docs/errors/caller.too_large.md":`# \`caller.too_large\`

The message is larger than the limit.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31413 | 413 | 1 |

## What it means
A request body, a line over stdio or an HTTP head is larger than the limit.

## What to do
Send less, or raise \`[server] max_body\`. A line over stdio may have 16 MiB, an HTTP head 32 KiB; these are fixed.
`,"../../../docs/errors/caller.too_many_readers.md":`# \`caller.too_many_readers\`

Too many clients already read the event stream.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31429 | 429 | 1 |

## What it means
64 pages or programs already have a stream of \`GET /api/v1/events\` open, which is the limit. Each costs memory and a
read of the record every second.

## What to do
Close pages that nobody looks at, or try again after the number of seconds in \`Retry-After\`. Clients that reconnect
with \`Last-Event-ID\` miss nothing. \`?follow=false\` reads what is recorded and ends.
`,"../../../docs/errors/caller.too_many_reads.md":`# \`caller.too_many_reads\`

Too many reads of the record are already running.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31429 | 429 | 1 |

## What it means
The record serves a limited number of reads at a time: two queries (\`POST /api/v1/query\`, \`callgate query\`, the
page), four large reads (a search for a text, sums, an agent's excerpt), two exports and six other reads. Others
wait for ten seconds. This one waited and got no place.

## What to do
Try again after the number of seconds in \`Retry-After\`. A query ends at its \`timeout_s\` at the latest, any other read
after 30 s, an export after ten minutes. A filter on \`ts\`, or \`since\`, makes most of them short.
`,"../../../docs/errors/caller.transfer_coding.md":`# \`caller.transfer_coding\`

The body uses a transfer coding that is not supported.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 501 | 1 |

## What it means
\`Transfer-Encoding\` is not \`chunked\` alone. A proxy and a server that understand such a list differently see two
different requests in the same bytes, so Callgate refuses it.

## What to do
Send the body with \`Content-Length\`, or with \`Transfer-Encoding: chunked\`. Compressed JSON is not accepted.
`,"../../../docs/errors/caller.unanswered.md":`# \`caller.unanswered\`

A question of the server was not answered in time.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31408 | 408 | 1 |

## What it means
The server needs input to go on. The client was asked and did not answer within
\`[server] answer_timeout_s\` (10 minutes by default).

## What to do
Call again and answer, or raise \`answer_timeout_s\`.
`,"../../../docs/errors/caller.unknown_method.md":`# \`caller.unknown_method\`

The method does not exist here.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32601 | 404 | 1 |

## What it means
The method does not exist in the era the client speaks. \`ping\` and \`initialize\` belong to the handshake era,
\`server/discover\` to 2026-07-28.

## What to do
Check the spelling and the protocol version the client uses.
`,"../../../docs/errors/caller.unknown_prompt.md":`# \`caller.unknown_prompt\`

No prompt of that name is offered.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32602 | 404 | 2 |

## What it means
No prompt of that name is offered. On \`/mcp\` prompts are called \`<server>__<prompt>\`.

## What to do
Ask \`prompts/list\`; the hint names the nearest ones.
`,"../../../docs/errors/caller.unknown_resource.md":`# \`caller.unknown_resource\`

No resource of that uri is offered.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32602 | 404 | 2 |

## What it means
No server offers a resource of that uri, and none has a template that describes it.

## What to do
Ask \`resources/list\` and \`resources/templates/list\`. A resource that a server does not list is reached on
\`/servers/<name>/mcp\`.
`,"../../../docs/errors/caller.unknown_server.md":`# \`caller.unknown_server\`

No server of that name is configured.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32602 | 404 | 2 |

## What it means
\`/servers/<name>/mcp\` was asked for a name that is neither a source nor an MCP server of the configuration.

## What to do
Use a name from the configuration; \`/healthz\` lists them.
`,"../../../docs/errors/caller.unknown_session.md":`# \`caller.unknown_session\`

The session does not exist, has ended, or is not yours.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 404 | 1 |

## What it means
The \`Mcp-Session-Id\` is unknown: it ended, the gateway was restarted, or it belongs to another token.

## What to do
Send \`initialize\` again; clients do this by themselves on a 404.
`,"../../../docs/errors/caller.unknown_tool.md":"# `caller.unknown_tool`\n\nNo tool of that name is offered.\n\n| JSON-RPC code | HTTP status | exit code |\n|---|---|---|\n| -32602 | 404 | 2 |\n\n## What it means\nNo tool of that name is offered. On `/mcp` tools are called `<server>__<tool>` (names that clients would not accept\nare changed; `/healthz` lists them), on `/servers/<name>/mcp` by their own name.\n\n## What to do\nAsk `tools/list`; the hint names the nearest ones. When a whole server is missing, `/healthz` says why; its `notes`\nsay when a server lists more tools than are offered.\n","../../../docs/errors/caller.unsupported_version.md":`# \`caller.unsupported_version\`

The protocol version is not supported.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32022 | 400 | 1 |

## What it means
The protocol version in the header or in \`_meta\` is not one that Callgate speaks.

## What to do
Use a version from \`data.supported\`.
`,"../../../docs/errors/caller.wrong_content_type.md":`# \`caller.wrong_content_type\`

The body must be application/json.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 415 | 1 |

## What it means
The body of an MCP POST is not declared as JSON.

## What to do
Send \`Content-Type: application/json\`.
`,"../../../docs/errors/caller.wrong_http_method.md":`# \`caller.wrong_http_method\`

This address does not take that HTTP method.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32600 | 405 | 1 |

## What it means
The address exists, but not for that HTTP method. A modern client uses POST only.

## What to do
Use a method from the \`Allow\` header of the answer.
`,"../../../docs/errors/refused.destructive.md":`# \`refused.destructive\`

The tool may destroy something, and the policy denies such tools.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31403 | 403 | 6 |

## What it means
\`[policy] destructive = "deny"\` is set, and the tool does not declare itself read-only or non-destructive. A tool
that declares nothing counts as destructive: that is the specification's default.

## What to do
Use a read-only tool, or set \`destructive = "allow"\`.
`,"../../../docs/errors/refused.forbidden.md":`# \`refused.forbidden\`

The statement is never allowed, in any mode.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31403 | 403 | 6 |

## What it means
This kind of statement is never allowed, in any mode: DROP, TRUNCATE, GRANT, ATTACH, writing PRAGMAs and the like.

## What to do
Run it yourself, with the database's own client.
`,"../../../docs/errors/refused.function.md":`# \`refused.function\`

The statement calls a function that is not on the allow-list.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31403 | 403 | 6 |

## What it means
The statement calls a function that is not on the reviewed list of harmless ones.

## What to do
Write the statement without it. If you know that it has no side effects, add it to \`allow_functions\` of the source.
`,"../../../docs/errors/refused.hop.md":`# \`refused.hop\`

A request between replicas is not genuine, or not for this one.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31403 | 403 | 6 |

## What it means
Replicas pass requests on to each other on a listener of their own (\`[replicas] listen\`). This one was refused; the
message says why:
- It is not signed, or with another key.
- It is for another replica: one that was at this address before.
- It was signed more than 60 seconds ago, or in the future.
- It came before, or was changed on its way.
- Its session belongs to a third replica. A request is passed on once, never twice.

## What to do
Clients use the public listener (\`[server] listen\`); if one got this answer, it uses the wrong address. Between
replicas: give all of them the same \`[server] state_key\`, set their clocks by NTP, and let nothing between them change
requests.
`,"../../../docs/errors/refused.host.md":`# \`refused.host\`

The Host header names another machine.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31421 | 421 | 6 |

## What it means
The \`Host\` header does not name this gateway. This happens in a DNS rebinding attack, or behind a proxy that keeps
the public name.

## What to do
Use the address the gateway printed, or add the name to \`[server] allowed_hosts\`.
`,"../../../docs/errors/refused.left_out.md":`# \`refused.left_out\`

The configuration leaves this tool out.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31403 | 403 | 6 |

## What it means
The entry of this server has \`tools = { leave_out = […] }\` and names the tool there, or \`tools = { only = […] }\` and
does not. Such a tool is not listed and cannot be called, neither at \`/mcp\` nor at \`/servers/<id>/mcp\`.

## What to do
Use another tool, or change \`tools\` in the entry of the server ([configuration](../configuration.md#mcpserversname)).
`,"../../../docs/errors/refused.not_local.md":"# `refused.not_local`\n\nWhat starts programs or reads files is taken from the gateway's own machine only.\n\n| JSON-RPC code | HTTP status | exit code |\n|---|---|---|\n| -31403 | 403 | 6 |\n\n## What it means\nA change of the configuration, or an entry that was to be tried, names a program or a file of the gateway's machine:\n`command`, `args`, `env`, `cwd`, `sandbox`, `password_command`, a SQLite or DuckDB database, a path, or a value that\nbegins with `file:` or `exec:`. The request came from another machine, or through a proxy. A token with the role\n`operate` may do much, but it must not run programs here from elsewhere.\n\n## What to do\nMake the change on the machine of the gateway: on its page at `http://127.0.0.1:7420`, with `callgate config set`, or\nin the file itself. A connection over a Unix socket counts as this machine; a request with a header such as\n`X-Forwarded-For` does not.\n","../../../docs/errors/refused.origin.md":"# `refused.origin`\n\nThe request comes from a web page of another origin.\n\n| JSON-RPC code | HTTP status | exit code |\n|---|---|---|\n| -31403 | 403 | 6 |\n\n## What it means\nA web page of another origin called the gateway. Browsers send `Origin`; Callgate accepts only its own and those in\nthe configuration. With a plain `GET` they send none, but `Sec-Fetch-Site` says whose page asks: `cross-site` and\n`same-site` are refused, `same-origin` and `none` (typed into the address bar) pass, and so does a client that is\nnot a browser. `same-site` is refused because to a browser every port of `localhost` is the same site, also the page\nof another program.\n\n## What to do\nIf the page is yours, add its origin to `[server] allowed_origins`.\n","../../../docs/errors/refused.overloaded.md":`# \`refused.overloaded\`

The gateway has reached one of its own limits and accepts no more at the moment.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 6 |

## What it means
Every place for a client connection is taken. There are \`[server] max_connections\` places, and at most half of the
files that this process may open (\`ulimit -n\`): the other half is kept for the record, the servers and the
databases.

Or the bodies of all requests that are being read or answered have reached their limit: together they may take eight
times \`[server] max_body\` (16 MiB by default, so 128 MiB). The first 16 KiB of each body are not counted, so that
ordinary calls pass while large ones fill the limit.

## What to do
Try again after the number of seconds in \`Retry-After\`. Connections that never sent a request are closed first when
places run out. If your clients need more places, raise \`max_connections\` and the hard limit of open files
(\`LimitNOFILE=\` in a systemd unit, \`--ulimit nofile=\` in Docker). If large bodies are usual and the machine has the
memory, raise \`max_body\`.
`,"../../../docs/errors/refused.read_only.md":`# \`refused.read_only\`

The statement would write, and the source is read-only.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31403 | 403 | 6 |

## What it means
The statement would change data, and the source is read-only, which is the default.

## What to do
If the agent should write, set \`mode = "write"\` for this source in \`callgate.toml\` (for a source made from \`MYSQL_*\`
variables: \`MYSQL_ALLOW_WRITE=true\`). Otherwise use SELECT.
`,"../../../docs/errors/refused.role.md":`# \`refused.role\`

The caller's role may not do this.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31403 | 403 | 6 |

## What it means
The token is good, but its role is too low for this address. \`call\` may use the MCP endpoints and nothing else,
\`watch\` may also read the record and try tools, \`operate\` may also change what the gateway does.

## What to do
Use another token. An operator makes one with \`callgate token add NAME --role watch\`
([roles](../security.md#who-may-do-what)).
`,"../../../docs/errors/refused.too_many_guesses.md":`# \`refused.too_many_guesses\`

The token is wrong, and so were many others from this address.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31429 | 429 | 6 |

## What it means
The bearer token is not valid, and 16 other requests with wrong tokens from the same address are already waiting for
their answer. Wrong tokens are answered more and more slowly, up to 2 s each. A right token is answered at once,
whatever else came from its address.

## What to do
Check the token: it must be one of \`[server] tokens\`, sent as \`Authorization: Bearer …\`. If none of your clients
sends wrong tokens, somebody is guessing: the log has a line with the address.
`,"../../../docs/errors/refused.unauthenticated.md":`# \`refused.unauthenticated\`

A bearer token is needed, and none or a wrong one was given.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31401 | 401 | 6 |

## What it means
Tokens are configured, and the request has none or a wrong one. This is decided after the head of the request; its
body is not kept. From the fourth wrong token of one address on the answer takes longer each time, up to 2 s; a
right token is never slowed down.

## What to do
Send \`Authorization: Bearer <token>\` with one of \`[server] tokens\`.
`,"../../../docs/errors/refused.unclear.md":`# \`refused.unclear\`

The statement could not be understood well enough to be let through.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31403 | 403 | 6 |

## What it means
The guard cannot be sure that the statement is harmless: it does not parse, it has characters that engines read
differently, or it is nested too deeply.

## What to do
Write it more simply: ordinary spaces, closed quotes, no control characters, one kind of statement.
`,"../../../docs/errors/refused.unrecorded.md":`# \`refused.unrecorded\`

Calls are refused while they cannot be recorded.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 6 |

## What it means
\`[record] on_failure = "refuse"\` is set, and the journal cannot be written at the moment, for example because the
disk is full. \`GET /healthz\` says what is wrong.

## What to do
Free some disk space, or set \`on_failure = "continue"\`: calls are then made, and what cannot be recorded is counted
in the record's \`gaps\`.
`,"../../../docs/errors/setup.archive.md":`# \`setup.archive\`

The record's archive cannot be used now.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 1 |

## What it means
\`[record] archive\`, or \`callgate record archive --to\`, names an object store or a folder that does not answer, refuses
the credentials, has no such bucket, or holds the archive of another record. The gateway serves on, and tries again. No
day is deleted from the record meanwhile, even if the record grows beyond \`max_size\`.

## What to do
The message says what is wrong. Check the address, and the credentials in the environment of the gateway
(\`AWS_ACCESS_KEY_ID\`, \`AWS_SECRET_ACCESS_KEY\`, \`AWS_REGION\`, \`AWS_ENDPOINT_URL\`). Each record needs a prefix of its own.
`,"../../../docs/errors/setup.config.md":`# \`setup.config\`

The configuration has problems.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32603 | 500 | 3 |

## What it means
The configuration has problems; each is listed with its key path.

## What to do
Correct them; \`callgate config check\` shows what is left, \`docs/configuration.md\` lists every key.
`,"../../../docs/errors/setup.config_locked.md":`# \`setup.config_locked\`

The configuration file cannot be written.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32603 | 409 | 3 |

## What it means
The file, or its folder, is read-only for this user, or the disk is full. The file is as it was.

## What to do
Make the change where the file comes from: the image, the secret or the repository that it is mounted from.
`,"../../../docs/errors/setup.engine.md":`# \`setup.engine\`

This version does not support that database engine.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32603 | 501 | 3 |

## What it means
This version does not support that database engine.

## What to do
Use a newer version, or another engine.
`,"../../../docs/errors/setup.lock.md":`# \`setup.lock\`

callgate.lock cannot be read or written.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32603 | 409 | 3 |

## What it means
The [lock](../trust.md#the-lock) is cut, of a newer version, has the marks of a merge, or its folder is read-only.
What was to be accepted or blocked is not. Servers with \`trust = "hold"\` show nothing new.

## What to do
Restore the file from version control, finish the merge, or make its folder writable. Then try again.
`,"../../../docs/errors/setup.not_running.md":`# \`setup.not_running\`

No gateway is running for this state folder.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 5 |

## What it means
The command needs a running gateway. It found none, or lost it.

## What to do
Start one with \`callgate\`, with the same state folder.
`,"../../../docs/errors/setup.port.md":`# \`setup.port\`

The address is already in use, or may not be used.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32603 | 500 | 4 |

## What it means
The address to listen on is busy, or this user may not use it. If another Callgate uses it, the message says so,
with the process and its state folder if that belongs to you.

## What to do
Use the gateway that runs there, stop the program that listens there, or choose another port with \`--port\` (0 takes
any free one). For \`listen = "unix:…"\` choose another path; a file there that is no socket is never replaced. Only the
default port moves to the next free one.
`,"../../../docs/errors/setup.record_elsewhere.md":`# \`setup.record_elsewhere\`

Another process holds the record's store.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 1 |

## What it means
Another process on the same state folder has the record open, and only one process can.

## What to do
Ask the gateway that was started first (its address is in \`gateway.json\` in the state folder). Nothing is lost: it
stores this process's calls too.
`,"../../../docs/errors/setup.record_off.md":`# \`setup.record_off\`

Calls are not recorded here.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 1 |

## What it means
The configuration says \`[record] enabled = false\`, so there is no record to read.

## What to do
Set \`[record] enabled = true\` (the default) and restart the gateway.
`,"../../../docs/errors/setup.sandbox.md":`# \`setup.sandbox\`

A server cannot be confined as its entry says.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 3 |

## What it means
The entry has a [\`sandbox\`](../servers.md#confine-a-server), and it cannot be made. The program was not started: a
server never runs with less than the sandbox that its entry asks for. The message names the reason:

- The kernel cannot do it: no Linux, no Landlock or one before Linux 6.2, no seccomp, another processor than x86_64 and
  aarch64.
- A folder of \`reads\`, \`writes\` or \`cwd\` does not exist, or holds the state folder, the configuration or the home.
- The server's own folder in the state folder cannot be made.

## What to do
\`callgate doctor\` says what the kernel can do. Name folders that hold only what the server needs; if the folder of a
project holds \`callgate.toml\`, keep that file elsewhere (\`--config\`). A container needs a seccomp profile that lets
Landlock's calls through; those of Docker and Podman do. Without a sandbox the server starts with all rights of the
gateway's user.
`,"../../../docs/errors/setup.secret.md":`# \`setup.secret\`

A secret cannot be read or kept.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32603 | 500 | 3 |

## What it means
The configuration says \`secret:name\` or \`exec:command\`, and the value cannot be had. The message names the secret:

- there is no secret of that name in \`state.db\`,
- it was sealed with another key: \`[server] state_key\`, or the file \`state.key\` in the state folder, is not what it
  was when the secret was set,
- its row was cut, changed, or moved from another name,
- the command failed, took longer than 10 s, or wrote nothing or more than 64 KiB. What it wrote is not shown: it may
  hold a secret,
- the key is in the system's keyring, and the keyring cannot be used;
- \`callgate[keyring]\` is installed, and the machine has no keyring. Start one, or uninstall the package \`keyring\`, or
  set \`PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring\`: then the state key seals.

## What to do
Set it again with \`callgate secret set NAME\`. If all secrets are unreadable, the key has changed: bring the old
\`state_key\` back first. For \`exec:\` run the command by hand, as the user that runs Callgate.
`,"../../../docs/errors/setup.state_db.md":`# \`setup.state_db\`

The gateway's own database cannot be used.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 3 |

## What it means
\`state.db\` in the state folder holds sealed secrets, and what servers offered. It cannot be opened: it is damaged, is no
database, or may not be written to. The message has SQLite's own words.

## What to do
Restore it from a backup. Without one, move it away: Callgate makes a new one, and secrets are set again with
\`callgate secret set\`. If its folder may not be written to, choose another with \`[server] state_dir\`.
`,"../../../docs/errors/setup.state_folder.md":`# \`setup.state_folder\`

The state folder cannot be used.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -32603 | 500 | 1 |

## What it means
The folder for the record and the address file cannot be made or written. Or it is not safe: it belongs to another
user, others may write to it, or it is inside a folder that everybody may write to. Whoever can write there could
redirect our commands, with their token, to another gateway, and change the record.

## What to do
If the folder is not safe, do what the message says: \`chown\` or \`chmod go-w\`. Otherwise choose another with
\`CALLGATE_STATE_DIR\`, \`[server] state_dir\` or \`[record] path\`. If the message says that the record cannot be opened,
move that file and its \`.wal\` away: Callgate begins a new one and stores what was journalled meanwhile.
`,"../../../docs/errors/setup.state_newer.md":`# \`setup.state_newer\`

The gateway's own database is of a newer Callgate.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 3 |

## What it means
A later version of Callgate has changed the tables of \`state.db\` in the state folder. This version cannot know what
they hold, and leaves them alone.

## What to do
Install that version again, restore a backup that was made before, or give this version a state folder of its own
(\`[server] state_dir\`, or \`CALLGATE_STATE_DIR\`).
`,"../../../docs/errors/setup.store_newer.md":`# \`setup.store_newer\`

The record's tables are of a newer Callgate.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 3 |

## What it means
Another gateway of a later version made or changed the tables of \`[record] store\`, in a way that this version cannot
read. The gateway does not start.

Most changes only add, and gateways of two versions run side by side; this is about one that does not.

## What to do
Install the version that the other gateways have, or give this gateway a database of its own.
`,"../../../docs/errors/setup.store_schema.md":`# \`setup.store_schema\`

The record's tables cannot be made or used.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 1 |

## What it means
The database answers, but the record's user may not create or use its schemas (\`callgate\` and \`callgate_store\`), or
somebody changed the tables in them. With \`[record] migrate = false\` it also means that tables or partitions are missing
or old: a gateway does not start then, and one that runs journals its calls. SQL over the record also needs the role
\`callgate_reader\`.

## What to do
With \`migrate = false\`, run \`callgate record migrate\` as a user who may change the tables, at each upgrade and once a
day.

Let the record's user create in its database (\`GRANT CREATE ON DATABASE … TO …\`), or make it the owner of both
schemas. If it may not create roles, an administrator runs the statements that the message gives. In ClickHouse the
user needs \`GRANT ALL ON database.*\`, and must not be confined by \`readonly\`.
`,"../../../docs/errors/setup.store_unreachable.md":`# \`setup.store_unreachable\`

The record's database cannot be used now.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 1 |

## What it means
\`[record] store\` names a PostgreSQL or ClickHouse that does not answer, refuses the user, is full, or is a standby. The
gateway serves on: calls are journalled in the state folder and stored when the database is back. Only reads of the
record fail. Or the gateway's own process that stores into it ended, hangs or cannot be started.

## What to do
The message says what the database said. Check that it runs and can be reached from the gateway, and user, password
and database in \`[record] store\`. \`/healthz\` tells since when it is away and how much waits.

Of the gateway's own process it says how it ended. Callgate starts another by itself. If that ends too, the log says
why, or the kernel's log names it for want of memory: give the gateway more.
`,"../../../docs/errors/source.access_denied.md":`# \`source.access_denied\`

The database account lacks the right to do that.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31403 | 403 | 1 |

## What it means
The database itself refused: the account that Callgate logs in with has no right to this table, column, routine or
operation.

## What to do
Ask for something else, or let the database administrator grant what the message names.
`,"../../../docs/errors/source.constraint.md":`# \`source.constraint\`

The row breaks a rule of its table.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31409 | 409 | 1 |

## What it means
A write was refused by a constraint: a duplicate key, a missing value, a foreign key or a check.

## What to do
Change the row, or look up the existing one first.
`,"../../../docs/errors/source.failed.md":`# \`source.failed\`

The database answered with an error.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 1 |

## What it means
The database answered with an error that none of the other codes describes.

## What to do
Read the database's own text in the message.
`,"../../../docs/errors/source.locked.md":`# \`source.locked\`

Another session holds a lock that the statement needs.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31409 | 409 | 1 |

## What it means
The statement waited for a lock of another session (at most half of \`timeout_s\`), or was chosen as the victim of a
deadlock. It was rolled back.

## What to do
Try again in a moment. If it happens again, look for long-running transactions at the database.
`,"../../../docs/errors/source.syntax.md":`# \`source.syntax\`

The database did not understand the statement.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31422 | 422 | 1 |

## What it means
The database did not understand the statement.

## What to do
The message has the database's own text. Check the dialect: the tool's description names the engine.
`,"../../../docs/errors/source.timeout.md":`# \`source.timeout\`

The statement took longer than the limit and was stopped.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31504 | 504 | 1 |

## What it means
The statement ran longer than \`timeout_s\` of its source and was stopped at the database.

## What to do
Add a LIMIT or WHERE, use indexed columns, or raise \`timeout_s\`.
`,"../../../docs/errors/source.unavailable.md":`# \`source.unavailable\`

The database is not reachable at the moment.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 5 |

## What it means
The database cannot be reached or opened.

## What to do
Check that it runs, the address and the credentials in the DSN, and for files the path and permissions. The next
call tries again.
`,"../../../docs/errors/source.unknown_column.md":`# \`source.unknown_column\`

The column does not exist.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31422 | 422 | 1 |

## What it means
The statement names a column that does not exist.

## What to do
The message names the nearest columns.
`,"../../../docs/errors/source.unknown_database.md":`# \`source.unknown_database\`

The database or schema does not exist.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31422 | 422 | 1 |

## What it means
The statement names a database (PostgreSQL: a schema) that does not exist, or that the account may not see.

## What to do
The message names the nearest ones and the statement that lists all.
`,"../../../docs/errors/source.unknown_table.md":`# \`source.unknown_table\`

The table does not exist.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31422 | 422 | 1 |

## What it means
The statement names a table that does not exist.

## What to do
The message names the nearest tables and the statement that lists all.
`,"../../../docs/errors/upstream.busy.md":`# \`upstream.busy\`

The server takes no more requests at the moment.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 5 |

## What it means
One of these; the message says which:
- The server does not read its input: three attempts to send failed.
- All processes that may run for stdio servers (\`[server] max_children\`) are in use by running calls, and none
  became free within five seconds.
- The server has reached its limit of connections for single clients, and all are in use.

## What to do
Wait and try again; look at the server's own log if it happens again. Raise \`max_children\`, or set
\`isolation = "shared"\` for servers that keep no state for a client.
`,"../../../docs/errors/upstream.exited.md":`# \`upstream.exited\`

The server's process ended.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 5 |

## What it means
The process of a stdio server ended during the call, or could not be started.

## What to do
Read what the process said. The error ends with its last lines on stderr; \`/healthz\` and the log quote the line that
looks most like the reason; the server's stderr tab on the page shows the last 50 lines. \`callgate doctor\` starts each
server once and shows why one fails.

If that does not help, run the entry's command by hand, with its \`env\`, in the same folder: \`cwd\` of the entry, else
the folder in which Callgate was started. A server that is well waits for input. Then correct the entry (the name of
the package, a path, an argument, a variable) and restart Callgate.

A process that ended is started again by itself, with growing pauses.
`,"../../../docs/errors/upstream.failed.md":`# \`upstream.failed\`

The server answered with something that is not MCP.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 5 |

## What it means
The server answered with something that is not a valid MCP answer.

## What to do
Look at the server's own log, and report it to the server's author.
`,"../../../docs/errors/upstream.other_era.md":`# \`upstream.other_era\`

The server speaks only the other era of the protocol.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31501 | 501 | 5 |

## What it means
The server and Callgate have no protocol version in common. (A client and a server of different eras do work together:
Callgate translates between them.)

## What to do
Update the server, or Callgate. \`/healthz\` and the server's own log say what it answered.
`,"../../../docs/errors/upstream.replica_lost.md":`# \`upstream.replica_lost\`

The replica that served this request ended.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 5 |

## What it means
The request was passed on to the replica that it belongs to, and the connection broke before the answer was complete.
That replica may have carried the request out.

## What to do
Check whether it was, for example in the record, and send it again if not. Callgate never sends a request twice that
may have been sent once.
`,"../../../docs/errors/upstream.replica_unreachable.md":`# \`upstream.replica_unreachable\`

The replica that this session belongs to cannot be reached.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 5 |

## What it means
The session belongs to another replica. It says in the directory that it is there, but this one cannot reach it; or
nobody can tell, because the directory's database is away. No other replica takes the session over meanwhile: it would
then be in two places.

## What to do
Send the request again after the number of seconds in \`Retry-After\`. If it goes on, the operator checks that replicas
reach each other at \`[replicas] advertise\`, and that the database of \`[replicas]\` is there.
`,"../../../docs/errors/upstream.session_lost.md":`# \`upstream.session_lost\`

The server forgot our session while the request was under way.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 5 |

## What it means
The server no longer knows our session (it answered 404), probably because it was restarted. The request may or may
not have run, so it was not sent again.

## What to do
Check whether it had an effect, then call again. Callgate opens a new session by itself.
`,"../../../docs/errors/upstream.starting.md":`# \`upstream.starting\`

The server is still starting.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31503 | 503 | 5 |

## What it means
The server's process runs, but has not answered \`initialize\` yet. The request waited for \`timeout_s\`. A cold
\`npx -y\` or \`uvx\` downloads its server first, which takes up to a minute or two. Callgate waits for
\`start_timeout_s\` (120 s) and does not start the process again meanwhile.

## What to do
Try again in a moment. \`/healthz\` and the page show the server as *starting*, with its last lines on stderr. If it
needs longer than \`start_timeout_s\` every time, raise that, or install the server beforehand.
`,"../../../docs/errors/upstream.timeout.md":`# \`upstream.timeout\`

The server did not answer in time.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31504 | 504 | 5 |

## What it means
The server did not answer in time: five minutes for a tool call, 30 seconds for anything else, or \`timeout_s\` of its
entry. The request was cancelled at the server; a late answer is ignored.

## What to do
Ask for less at once, or raise \`timeout_s\`, for the server or for one tool
([configuration](../configuration.md#mcpserversname)). Progress notifications extend the time, up to ten times the
limit.
`,"../../../docs/errors/upstream.too_large.md":`# \`upstream.too_large\`

The server sent a message larger than the limit.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 5 |

## What it means
The server sent a message of more than 16 MiB. Its connection was closed, because the messages after it cannot be
found.

## What to do
Ask for less at once. Report it to the server's author.
`,"../../../docs/errors/upstream.unauthorized.md":`# \`upstream.unauthorized\`

The server wants credentials we do not have.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 5 |

## What it means
The server answered 401 or 403. The message has up to 300 characters of its answer, without secrets.

## What to do
Check the \`headers\` of its entry in the configuration. A client's own token is never passed on.
`,"../../../docs/errors/upstream.unavailable.md":`# \`upstream.unavailable\`

The server is not reachable at the moment.

| JSON-RPC code | HTTP status | exit code |
|---|---|---|
| -31502 | 502 | 5 |

## What it means
The server cannot be reached at the moment.

## What to do
\`/healthz\` says what is wrong with it. Its tools work again as soon as it is back.
`});function t(e,t){return e.split(/^## /m).find(e=>e.startsWith(`${t}\n`))?.slice(t.length).trim().replace(/\[([^\]]+)\]\([^)]+\)/g,`$1`)??``}function n(e){return{means:t(e,`What it means`),todo:t(e,`What to do`)}}function r(t){let r=e[`../../../docs/errors/${t}.md`];return r?n(r):null}export{r as adviceOn};