"""`callgate serve --workers N`: one gateway of several processes on one machine."""
