"""A backend of the library keyring, as a plugin of it would be: nothing is kept beyond the process."""

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked


class MemoryKeyring(KeyringBackend):
    priority = 1  # pyright: ignore[reportAssignmentType]

    def __init__(self) -> None:
        super().__init__()
        self.passwords: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise KeyringLocked("locked")
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password
