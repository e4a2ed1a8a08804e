"""MySQL's and MariaDB's `Driver`: how we talk to it."""
