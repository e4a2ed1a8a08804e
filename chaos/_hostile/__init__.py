"""Attacks on a gateway: see hostile.py and soak.py."""
