"""The SQL server as an upstream: its tools, resources and completions, and how a call runs."""
