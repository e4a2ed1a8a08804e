"""The official conformance suite: which versions, installed where, and one run of it.

Knows npm and the suite's command line; where its target comes from is `stage.py`, what its verdicts mean is
`verdicts.py`. The versions are pinned, with everything below them, by `package-lock.json` beside this file.
"""

import asyncio
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from locked_packages import InstallError, node_modules

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "conformance"

RUN_TIMEOUT_S = 600.0  # the slowest leg takes half a minute; each scenario has its own, shorter limits


class SuiteError(Exception):
    """The suite could not be installed, had nothing to run against or did not finish: it proved nothing."""


@dataclass(frozen=True)
class Leg:
    name: str
    era: str
    package: str  # the alias in package.json
    arguments: tuple[str, ...]


LEGS = {
    leg.name: leg
    for leg in (
        Leg("016-all", "legacy", "conformance-016", ()),
        Leg("020-2025", "legacy", "conformance-020", ("--spec-version", "2025-11-25")),
        Leg("020-2026", "modern", "conformance-020", ("--spec-version", "2026-07-28")),
    )
}


@dataclass(frozen=True)
class Suite:
    modules: Path

    @property
    def node(self) -> Path:
        """The suite needs Node 22 (fs.globSync), newer than many machines have: it comes from npm too."""
        return next(self.modules.glob("node-linux-*/bin/node"))

    async def run(self, leg: Leg, url: str, results: Path, scenarios: Sequence[str] = ()) -> None:
        """Leaves a folder with a checks.json for each scenario below `results`."""
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir(parents=True)
        selections = [("--scenario", scenario) for scenario in scenarios] or [("--suite", "all")]
        for selection in selections:
            await self._run(leg, [*selection, "--url", url, "--output-dir", str(results)], results)

    async def _run(self, leg: Leg, arguments: list[str], results: Path) -> None:
        program = self.modules / leg.package / "dist" / "index.js"
        said = results.with_suffix(".txt")
        with said.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                self.node, program, "server", *arguments, *leg.arguments,
                stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            try:
                # 1 means that checks failed, which the verdicts tell better.
                exit_code = await asyncio.wait_for(process.wait(), RUN_TIMEOUT_S)
            except TimeoutError:
                raise SuiteError(f"{leg.name} was not done after {RUN_TIMEOUT_S:.0f} s: {said}") from None
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if exit_code not in (0, 1):
            raise SuiteError(f"{leg.name} ended with {exit_code}: {said}")


def install() -> Suite:
    """The suite and its Node below .cache, once for each state of the lock file."""
    try:
        suite = Suite(node_modules(HERE, CACHE.name))
    except InstallError as problem:
        raise SuiteError(f"The conformance suite could not be installed: {problem}") from problem
    if not any(suite.modules.glob("node-linux-*/bin/node")):
        raise SuiteError(f"There is no Node for {platform.system()} {platform.machine()} in package.json")
    return suite
