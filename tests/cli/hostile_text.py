"""Text that a terminal would act on, and how to see that it did not."""

# Sets the title, clears the screen, asks the terminal to type an answer, resets it; the same with C1 codes;
# turns the direction of writing; takes back what stands before it; and a line that looks like one of ours.
ACTS = "\x1b]0;title\x07\x1b[2J\x1b[6n\x1bc\x9b2J\x9d0;title\x9c\u202e\u2066\u200e\x08\x7f\ufeff"
FORGED = "✓ forged line"
MARK = "HOSTILE"
HOSTILE = f"{MARK}{ACTS}\n{FORGED}\r{FORGED}"

# What Callgate itself and rich may send: colours, "clear to the end of the line", hide and show the cursor.
OWN = (r"\x1b\[[0-9;]*m", r"\x1b\[K", r"\x1b\[2K", r"\x1b\[\?25[lh]", r"\x1b\[1A")
FORBIDDEN = frozenset("\x1b\x07\x08\x7f\x9b\x9c\x9d\u202e\u2066\u200e\ufeff")
