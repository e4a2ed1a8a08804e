"""What servers say of themselves: scanned, pinned in `callgate.lock`, and held when it changes.

Must not know how a server is reached, how a list is merged, or how anything is shown.
"""
