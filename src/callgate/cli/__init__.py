"""The command line: commands, exit codes, what the terminal shows.

Heavy imports live inside the commands, so that `--help` and shell completion answer at once.
"""
