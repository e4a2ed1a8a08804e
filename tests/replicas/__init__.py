"""Several gateways as one. A package by name: `chaos/replicas.py` must not be taken for it."""
