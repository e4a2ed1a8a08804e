"""The protocol machine: bytes in, events out.

Owns the JSON-RPC envelope, both eras' ways of saying who is calling, framing, and the HTTP header rules.
Must not know sockets, loops or clocks: time is an argument, and every function here can be tested as a
dialogue. A payload we do not own stays raw bytes.

    connection      requests of one connection, their timers; a client's side of one ordered stream
    eras            what each era says, and the same in the words of the other
    framing         lines, server-sent events, pieces of bytes
"""
