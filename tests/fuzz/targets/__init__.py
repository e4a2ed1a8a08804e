"""Every target, by name."""

from fuzz.target import Target
from fuzz.targets.http_client import HttpClientTarget
from fuzz.targets.http_server import HttpServerTarget
from fuzz.targets.journal import JournalTarget
from fuzz.targets.messages import ConversationTarget, JsonRpcTarget, LinesTarget, SseTarget, UpstreamTarget
from fuzz.targets.toml import TomlTarget

_ALL: tuple[Target, ...] = (
    HttpServerTarget(),
    HttpClientTarget(),
    JsonRpcTarget(),
    LinesTarget(),
    ConversationTarget(),
    UpstreamTarget(),
    SseTarget(),
    JournalTarget(),
    TomlTarget(),
)
TARGETS = {target.name: target for target in _ALL}
