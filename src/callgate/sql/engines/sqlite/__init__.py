"""SQLite: what we know of its SQL (`dialect`, pure) and how we talk to it (`driver`)."""
