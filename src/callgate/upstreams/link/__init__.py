"""The life of one connection to an upstream, and what is asked and heard over it."""
