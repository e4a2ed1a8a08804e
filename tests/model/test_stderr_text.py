"""Of several lines on stderr, the one that says what is wrong. The texts are what real programs print."""

import pytest

from callgate.model.stderr_text import quoted, telling_line

NPM_MISSING = """\
npm warn exec The following package was not found and will be installed: left@1.0.0
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/@modelcontextprotocol%2fserver-does-not-exist
npm error 404
npm error 404  '@modelcontextprotocol/server-does-not-exist@*' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: ~/.npm/_logs/2026-11-16T16_00_00_000Z-debug-0.log"""
NODE_MODULE = """\
node:internal/modules/cjs/loader:1210
throw err;
^

Error: Cannot find module '/srv/nowhere.js'
at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
at node:internal/main/run_main_module:28:49 {
code: 'MODULE_NOT_FOUND',
requireStack: []
}

Node.js v20.20.2"""
NODE_THROWN = """\
/srv/server.js:3
throw new TypeError("the key is missing")
^

TypeError: the key is missing
at Object.<anonymous> (/srv/server.js:3:7)

Node.js v20.20.2"""
PYTHON = """\
Starting, error log goes to stderr
Traceback (most recent call last):
File "/srv/server.py", line 2, in <module>
raise ValueError("first")
ValueError: first

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
File "/srv/server.py", line 4, in <module>
import nowhere
ModuleNotFoundError: No module named 'nowhere'
sys:1: ResourceWarning: unclosed file"""
PYTHON_GROUP = """\
+ Exception Group Traceback (most recent call last):
|   File "/srv/server.py", line 9, in <module>
| ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
+-+---------------- 1 ----------------
| Traceback (most recent call last):
|   File "/srv/server.py", line 5, in serve
| httpx.ConnectError: All connection attempts failed
+------------------------------------"""
UV = """\
Resolved 12 packages in 3ms
× No solution found when resolving tool dependencies:
╰─▶ Because nowhere was not found in the package registry and you require nowhere, we can conclude
that your requirements are unsatisfiable."""
ARGPARSE = """\
usage: server.py [-h] --root ROOT
server.py: error: the following arguments are required: --root"""


@pytest.mark.parametrize(
    ("said", "telling"),
    [
        (NPM_MISSING, "npm error 404 Not Found - GET https://registry.npmjs.org/"),
        (NODE_MODULE, "Error: Cannot find module '/srv/nowhere.js'"),
        (NODE_THROWN, "TypeError: the key is missing"),
        (PYTHON, "ModuleNotFoundError: No module named 'nowhere'"),
        (PYTHON_GROUP, "| httpx.ConnectError: All connection attempts failed"),
        (UV, "╰─▶ Because nowhere was not found in the package registry"),
        (ARGPARSE, "server.py: error: the following arguments are required: --root"),
        ("sh: 1: nowhere: not found", "sh: 1: nowhere: not found"),
        ("Starting\npanic: no route\ngoroutine 1 [running]:\nexit status 2", "panic: no route"),
    ],
    ids=["npm", "node-module", "node-thrown", "python", "python-group", "uv", "argparse", "shell", "go"],
)
def test_the_line_with_the_reason_is_chosen(said: str, telling: str) -> None:
    assert telling_line(said.splitlines()).startswith(telling)


def test_without_anything_that_looks_wrong_it_is_the_last_line_with_text() -> None:
    assert telling_line(["downloading 12 packages", "listening", "", "  "]) == "listening"
    assert telling_line(["Server 2.1", "Node.js v20.20.2"]) == "Node.js v20.20.2"


def test_a_program_that_said_nothing_is_not_quoted() -> None:
    assert (quoted([]), quoted([" "])) == ("", "")
    assert quoted(["bye"]) == " (stderr: bye)"
