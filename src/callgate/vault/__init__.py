"""What the gateway keeps for itself on this machine, beside the record.

state_db     `<state>/state.db`: sealed secrets, and whole definitions of what servers offer
"""
