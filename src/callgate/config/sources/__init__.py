"""Where the operator's words come from: files (also other clients'), environment, flags, secrets."""
