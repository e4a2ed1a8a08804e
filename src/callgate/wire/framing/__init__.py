"""Where one message ends and the next begins: lines, server-sent events, pieces of bytes."""
