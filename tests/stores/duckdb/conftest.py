"""Recorders that end with their test."""

from recorder.happenings import open_recorder

__all__ = ["open_recorder"]
