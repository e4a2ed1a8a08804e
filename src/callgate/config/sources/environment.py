"""CALLGATE_<SECTION>_<KEY>: each scalar key of [server], [record], [policy], [otel] and [replicas].

The list is generated from the specs, so that a new key has its variable from the start. An empty variable
counts as unset (compose files write `X=${X}`). Sources from the environment: `environment_sources`.
"""

from collections.abc import Mapping

from callgate.config.problem import ConfigProblem, Loc
from callgate.config.specs.otel import OtelSpec
from callgate.config.specs.record import PolicySpec, RecordSpec
from callgate.config.specs.replicas import ReplicasSpec
from callgate.config.specs.server import ServerSpec
from callgate.config.specs.spec import Spec
from callgate.model.near_miss import did_you_mean

SECTIONS: Mapping[str, type[Spec]] = {
    "server": ServerSpec,
    "record": RecordSpec,
    "policy": PolicySpec,
    "otel": OtelSpec,
    "replicas": ReplicasSpec,
}
CONFIG_VARIABLE = "CALLGATE_CONFIG"
STATE_DIR_VARIABLE = "CALLGATE_STATE_DIR"


def scalar_variables() -> dict[str, Loc]:
    """Variable to place; lists and tables are the file's alone."""
    return {
        f"CALLGATE_{section}_{key}".upper(): (section, key)
        for section, spec in SECTIONS.items()
        for key in (one.key for one in spec.spec_keys.values() if not one.kind.is_collection)
    }


def overrides_of(environ: Mapping[str, str]) -> dict[Loc, tuple[str, str]]:
    """Place to (variable, text)."""
    found = {
        loc: (variable, environ[variable])
        for variable, loc in scalar_variables().items()
        if environ.get(variable)
    }
    # The short name is the one people know; it wins over the generated one.
    if state_dir := environ.get(STATE_DIR_VARIABLE):
        found["server", "state_dir"] = (STATE_DIR_VARIABLE, state_dir)
    return found


def unknown_variables(environ: Mapping[str, str]) -> list[ConfigProblem]:
    """A warning each: a later version's variable must not stop this one."""
    known = scalar_variables()
    prefixes = tuple(f"CALLGATE_{section}_".upper() for section in SECTIONS)
    return [
        ConfigProblem(name, "there is no such variable; it is ignored", did_you_mean(name, known))
        for name in sorted(environ)
        if name.startswith(prefixes) and name not in known
    ]
