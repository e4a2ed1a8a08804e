"""Where a configuration came from, in words."""

from callgate.config.load import Loaded
from callgate.config.specs.source import SourceFromEnvironment


def origin_in_words(loaded: Loaded, none: str) -> str:
    """`none`: what to say when there is no file, and neither arguments nor the environment name a source."""
    if loaded.origin is not None:
        return str(loaded.origin)
    sources = [one.id for one in loaded.config.sources if isinstance(one, SourceFromEnvironment)]
    if sources:
        return f"no file; the environment names the source {', '.join(sources)}"
    return "no file; the databases are arguments" if loaded.config.sources else none
