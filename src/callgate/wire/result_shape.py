"""What a result must carry in the era of the client that gets it.

A result in legacy shape becomes a modern one by adding what 2026-07-28 requires. What has to go the other
way is `era_faults`.
"""

import msgspec

CACHEABLE_METHODS = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    }
)


class _Shape(msgspec.Struct):
    resultType: msgspec.Raw = msgspec.Raw()  # noqa: N815 - the protocol's own spelling
    ttlMs: msgspec.Raw = msgspec.Raw()  # noqa: N815
    cacheScope: msgspec.Raw = msgspec.Raw()  # noqa: N815


_shape_decoder = msgspec.json.Decoder(_Shape)


def to_modern(result: bytes, method: str) -> bytes:
    """Adds `resultType`, and on cacheable methods `ttlMs` and `cacheScope`, where they are missing.

    What an upstream did not say, we do not promise: not fresh beyond now, not to be shared.
    """
    shape = _shape_decoder.decode(result)
    missing: list[bytes] = []
    if not bytes(shape.resultType):
        missing.append(b'"resultType":"complete"')
    if method in CACHEABLE_METHODS and bytes(shape.resultType) in (b"", b'"complete"'):
        if not bytes(shape.ttlMs):
            missing.append(b'"ttlMs":0')
        if not bytes(shape.cacheScope):
            missing.append(b'"cacheScope":"private"')
    if not missing:
        return result
    body = result.lstrip()[1:]
    separator = b"" if body.lstrip()[:1] == b"}" else b","
    return b"{" + b",".join(missing) + separator + body
