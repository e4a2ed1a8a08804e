"""SQLite: what we know of its SQL (`dialect` and its parts, pure) and how we talk to it (`driver`)."""
