"""Storing into a shared store by a process of its own: `child` is that process, `keeper_process` the gateway.

Rows for such a store are made in Python, which would hold the relay's interpreter lock.
"""
