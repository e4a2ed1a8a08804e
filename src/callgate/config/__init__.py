"""The operator's words: `callgate.toml`, the environment and the flags become frozen specs.

Owns reading, `${VAR}` and `file:` secrets, every problem at once with its key path, the JSON Schema.
Must not know anything that runs: no driver, no server, no store. Reading order: `specs`, `load`, `draft`.
"""
