"""How long one source of bytes may keep the event loop to itself, and how long it then waits.

A server that floods us is read in turns. Between them others are served, and our threads get the interpreter:
a loop that never waits leaves them only what Python's switch interval gives, and each call waits for the
recorder's thread.
"""

TURN_S = 0.003
PAUSE_S = 0.002
