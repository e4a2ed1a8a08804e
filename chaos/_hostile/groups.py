"""The scenarios of `scripts/chaos hostile`, by group."""

from _hostile.clients import CLIENTS
from _hostile.databases import DATABASES
from _hostile.messages import MESSAGES
from _hostile.servers import HTTP, STDIO

GROUPS = {group.name: group for group in (CLIENTS, MESSAGES, STDIO, HTTP, DATABASES)}
