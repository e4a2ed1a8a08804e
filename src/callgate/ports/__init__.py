"""The contracts between the parts: small Protocols, no code.

Parts of one floor never import each other; what one needs from another is named here, and `app/build.py`
hands over the implementation.
"""
