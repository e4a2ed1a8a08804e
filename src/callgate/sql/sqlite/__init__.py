"""SQLite: what we know of its SQL (`dialect` and what it is made of, pure) and how we talk to it (`driver`)."""
