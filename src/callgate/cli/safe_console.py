"""rich's console with the text made safe: its own colours pass, a stranger's do not.

Apart from `terminal`, because rich takes long to import. Made there, and nowhere else.
"""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType  # noqa: TID251 - the one place
from rich.segment import Segment

from callgate.model.terminal_text import safe_for_terminal


class SafeConsole(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(safe_for_terminal(segment.text), segment.style)
