"""Databases behind a socket: a byte stream, a pool of connections, a watchdog; no engine is known here.

driver    implements `sql.drivers.driver.Driver` for any engine that offers a `server.ServerConnection`
pool      gives connections to callers, in order of arrival
stream    bytes in and out of one socket, TLS included
"""
