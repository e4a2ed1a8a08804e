"""The operator's words: `callgate.toml`, the environment and the flags become frozen specs.

Owns reading, `${VAR}` and `file:` secrets, every problem at once with its key path, the JSON Schema.
Must not know anything that runs: no driver, no server, no store.
Reading order: `specs.config`, `load`, `draft`.

    sources         where the words come from: files, environment, flags
    specs           what they become, one module for each table
    problems        what is wrong with them
"""
