"""TLS towards a database: the operator's words as an `ssl.SSLContext`. Verified unless told otherwise."""

import ssl
from functools import lru_cache

from callgate.sql.settings import Tls, TlsMode


@lru_cache(maxsize=32)  # loading the system's authorities takes 10 ms, a pool asks for the same each time
def context_of(tls: Tls) -> ssl.SSLContext:
    """Raises OSError or ssl.SSLError when a file cannot be used."""
    context = ssl.create_default_context(cafile=str(tls.ca_file) if tls.ca_file is not None else None)
    if tls.mode is not TlsMode.VERIFY:
        context.check_hostname = False
    if tls.mode in (TlsMode.PREFER, TlsMode.UNVERIFIED):
        context.verify_mode = ssl.CERT_NONE
    if tls.cert_file is not None:
        context.load_cert_chain(tls.cert_file, tls.key_file, tls.key_password or "")
    return context
