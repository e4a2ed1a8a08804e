"""Images, sound and files in an answer: a terminal cannot show them, so they are saved on request."""

import base64
import binascii
import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from callgate.cli.private_file import private_file
from callgate.cli.terminal import stderr
from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.model.terminal_text import one_safe_line
from callgate.model.wording import counted

_Json = dict[str, Any]
# Where the machine's own table names an odd one, or none.
_SUFFIXES = {"image/jpeg": ".jpg", "image/webp": ".webp", "audio/mpeg": ".mp3", "audio/wav": ".wav"}


@dataclass(frozen=True, slots=True)
class Media:
    kind: str  # image, audio or resource
    mime_type: str
    data: bytes

    @property
    def suffix(self) -> str:
        return _SUFFIXES.get(self.mime_type) or mimetypes.guess_extension(self.mime_type) or ".bin"


def media_in(result: _Json) -> list[Media]:
    """A server may send anything: what is not base64 is left out."""
    found: list[Media] = []
    content = result.get("content")
    for item in cast("list[object]", content) if isinstance(content, list) else []:
        part = cast(_Json, item) if isinstance(item, dict) else {}
        kind, holder = str(part.get("type")), part
        if kind == "resource":
            inner = part.get("resource")
            holder = cast(_Json, inner) if isinstance(inner, dict) else {}
        text = holder.get("blob" if kind == "resource" else "data")
        if kind not in ("image", "audio", "resource") or not isinstance(text, str):
            continue
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            continue
        found.append(Media(kind, str(holder.get("mimeType") or ""), data))
    return found


def save_media(media: list[Media], path: Path) -> None:
    """One into the file of that name; several into the folder of that name, numbered."""
    if not media:
        raise CallerError(
            CALLER_BAD_PARAMS, "The answer holds no image, sound or file", hint="Leave --save out"
        )
    if len(media) == 1 and not path.is_dir():
        files = {path: media[0]}
    else:
        path.mkdir(exist_ok=True)
        files = {path / f"{number}{one.suffix}": one for number, one in enumerate(media, 1)}
    for file, one in files.items():
        with private_file(file) as output:
            output.write(one.data)
        _say(f"{file}: {one.mime_type or one.kind}, {len(one.data):,} bytes")


def say_unsaved(media: list[Media]) -> None:
    for one in media:
        _say(f"({one.mime_type or one.kind}, {counted(len(one.data), 'byte')}: --save FILE writes it)")


def _say(text: str) -> None:
    stderr().print(one_safe_line(text), style="dim", markup=False)
