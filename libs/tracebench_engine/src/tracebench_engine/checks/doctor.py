"""What this machine has and what a config needs of it: one finding per thing, each lack with the command that mends it."""

from __future__ import annotations

import os
import platform
import resource
import shlex
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from tracebench_core.errors import RunDirError, TraceBenchError, quoted, typed
from tracebench_core.plugins import PluginHost, unmet_requirement
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import Requirement, RunConfig
from tracebench_engine.checks.extras import extras, old_extras
from tracebench_engine.checks.lacking import addresses, lacks
from tracebench_engine.checks.pythons import list_pythons
from tracebench_engine.checks.validation import can_be_made
from tracebench_engine.matrix.plan import make_plan
from tracebench_engine.matrix.providers import served, settle_providers
from tracebench_gateway.credentials import KEY_VARIABLES
from tracebench_gateway.models import every_model, key_variable, model_config, resolve_models
from tracebench_gateway.variants import llm_configs
from tracebench_runs.meta.salt_files import SHARED_FILE, read_salts, secrets_of
from tracebench_runs.storage import sharing
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import read_whole
from tracebench_sandbox import isolation, temporary
from tracebench_sandbox.folders import remove

PYTHON_FLOOR = (3, 11)
FREE_BYTES = 1 << 30
OPEN_FILES = 1024
ENDPOINT_SECONDS = 3.0
READERS = {"group": "their group", "world": "everybody on the machine"}
MOST_NAMED = 3
GPU_DEVICES = ("/dev/nvidia0", "/dev/kfd")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at. `needed`: without it the config, or any run at all, cannot go."""

    name: str
    ok: bool
    value: str
    hint: str = ""
    needed: bool = False


def diagnose(config: RunConfig | None = None, *, host: PluginHost | None = None) -> list[Diagnosis]:
    """Look at this machine, and at what `config` needs; `host` says what plugins need. Asks no model and costs nothing."""
    rows = [_python(), _system(), *_limits(), _isolation(config), *_disk(config), *_privacy(config), _leftovers()]
    rows += [*_keys(), _docker(), _gpu(), *_extras()]
    if host is not None:
        rows += [*_plugins(host), *_pythons(host), *_commands(host)]
    if config is not None and host is not None:
        if _asks_models(config, host):
            settled = settle_providers(config, host)
            rows += [*_models(settled), *_served(settled, host)]
        else:
            rows.append(Diagnosis("models", ok=True, value="no task and no trainer of this config asks one"))
        rows += _selection(config, host)
    elif config is not None:
        rows += [*_models(config)]
    return [replace(row, hint=typed(row.hint)) for row in rows]


def _python() -> Diagnosis:
    floor = ".".join(map(str, PYTHON_FLOOR))
    value = f"{platform.python_version()} at {sys.executable}"
    return Diagnosis("Python", sys.version_info >= PYTHON_FLOOR, value, f"install Python {floor} or newer", needed=True)


def _system() -> Diagnosis:
    value = f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} CPUs"
    return Diagnosis(
        "system", sys.platform == "linux", value, "jobs need Linux; on other systems use a container", needed=True
    )


def _limits() -> Iterator[Diagnosis]:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield Diagnosis("open files", files >= OPEN_FILES, f"{files}", f"ulimit -n {OPEN_FILES}", needed=True)
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    yield Diagnosis("processes", ok=True, value="no limit" if processes == resource.RLIM_INFINITY else str(processes))


def _isolation(config: RunConfig | None) -> Diagnosis:
    report = isolation()
    demanded = config.sandbox.require if config is not None else "auto"
    enough = report.level == "strong" or (demanded != "strong" and report.level == "namespaces")
    hint = "a Linux kernel from 5.13 on with Landlock and seccomp, or user namespaces; unprotected:  -o sandbox.require=process"
    return Diagnosis("isolation", enough, report.sentence, hint, needed=demanded != "process")


def _disk(config: RunConfig | None) -> Iterator[Diagnosis]:
    wanted = Path(config.runs_dir if config else "runs").absolute()
    folder = next(p for p in (wanted, *wanted.parents) if p.exists())
    free = shutil.disk_usage(folder).free
    yield Diagnosis(
        "disk", free >= FREE_BYTES, f"{free / 2**30:.1f} GiB free for {wanted}", f"df -h {quoted(folder)}", needed=True
    )
    writable = can_be_made(wanted)
    hint = "trace-bench run --runs-dir DIR, with a folder that you may write to"
    yield Diagnosis(
        "runs folder", writable, f"{wanted}{'' if wanted.exists() else ' (will be made)'}", hint, needed=True
    )


def _privacy(config: RunConfig | None) -> Iterator[Diagnosis]:
    """Yield who besides this user may read what: runs hold prompts and answers, the salts give test instances away."""
    folder = Path(config.runs_dir if config else "runs").absolute()
    try:
        runs = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.is_symlink()]
    except OSError:
        return
    shared = {path: who for path in runs if (who := sharing.readers(path))}
    secrets = [folder / SHARED_FILE, *(file for path in shared for file in secrets_of(RunLayout(path)))]
    open_ = [path for path in secrets if path.exists() and sharing.readers(path)]
    told = [path for path in shared if _publishes(RunLayout(path), folder)]
    words = [f"{len(runs) - len(shared)} of {len(runs)} runs are yours alone"]
    words += [f"`{path.name}` can be read by {READERS[who]}" for path, who in [*shared.items()][:MOST_NAMED]]
    words += [f"{len(shared) - MOST_NAMED} more can be read by others"] if len(shared) > MOST_NAMED else []
    for path in [*open_, *(RunLayout(run).summary for run in told)][:MOST_NAMED]:
        others = READERS[sharing.readers(path) or "world"]
        words.append(f"the salts of test instances in `{path.relative_to(folder)}` can be read by {others}")
    if open_:
        hint = f"chmod 600 {shlex.join(map(str, open_))}"
    elif told:
        hint = f"trace-bench fsck {quoted(told[0])} --repair"
    else:
        hint = f"chmod -R go-rwx,g-s {quoted(next(iter(shared), folder))}"
    yield Diagnosis("private", not shared and not open_, "; ".join(words), hint)


def _publishes(layout: RunLayout, folder: Path) -> bool:
    """Say whether the summary of a run that others may read tells the salts that further runs of the folder are drawn from."""
    with suppress(OSError, RunDirError):
        drawn = read_salts(folder / SHARED_FILE)
        return drawn is not None and drawn.test.encode() in read_whole(layout.summary)
    return False


def _leftovers() -> Diagnosis:
    """Remove what runs that were killed left in the temporary folder."""
    gone = temporary.sweep(_remove)
    left = sum(1 for _ in temporary.leftovers())
    words = f"{gone} folders of ended processes removed" if gone else "none of ended processes"
    return Diagnosis("leftovers", ok=not left, value=f"{words}{f', {left} cannot be' if left else ''}", needed=False)


def _remove(folder: Path) -> None:
    with suppress(OSError):
        remove(folder)


def _keys() -> Iterator[Diagnosis]:
    names = sorted({*KEY_VARIABLES.values()})
    found = [name for name in names if os.environ.get(name)]
    value = f"set: {', '.join(found) or 'none'}; unset: {len(names) - len(found)} of {len(names)} known ones"
    yield Diagnosis("provider keys", bool(found), value, "export OPENAI_API_KEY=… (only `mode: real` needs one)")


def _docker() -> Diagnosis:
    path = shutil.which("docker")
    if path is None:
        return Diagnosis("Docker", ok=False, value="not found", hint="https://docs.docker.com/engine/install/")
    return Diagnosis("Docker", _docker_answers(), path, "systemctl start docker, or join the group `docker`")


def _docker_answers() -> bool:
    """Tell whether a container engine listens where the docker command looks for it."""
    address = urlsplit(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))
    if address.scheme != "unix":
        return _reachable(address.hostname or "localhost", address.port or 2375)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(ENDPOINT_SECONDS)
        return _succeeds(lambda: probe.connect(address.path))


def _gpu() -> Diagnosis:
    found = [device for device in GPU_DEVICES if Path(device).exists()]
    return Diagnosis("GPU", bool(found), ", ".join(found) or "not found", "only tasks that say so need one")


def _extras() -> Iterator[Diagnosis]:
    """Yield one finding per extra of the bench, and one for each that installs the bench by an extra of before."""
    for extra, missing in extras():
        value = f"missing: {', '.join(missing)}" if missing else "installed"
        yield Diagnosis(f"extra {extra}", not missing, value, f'pip install "tracebench-engine[{extra}]"')
    for who in old_extras():
        hint = 'pip install "tracebench-engine[EXTRA]": the extras are its own, and leave tracebench-core with the next minor'
        yield Diagnosis("extras of before", ok=False, value=who, hint=hint)


def _plugins(host: PluginHost) -> Iterator[Diagnosis]:
    host.catalog()
    for record in host.records.values():
        ok = record.status in {"loaded", "disabled"}
        value = f"{record.status}: {record.distribution} {record.version}" + (
            f": {record.error}" if record.error else ""
        )
        yield Diagnosis(f"plugin {record.name}", ok, value, f"pip install --upgrade {record.distribution}")


def _pythons(host: PluginHost) -> Iterator[Diagnosis]:
    """Yield the interpreters that plugins offer: ready, built from other packages, or not built."""
    for python in list_pythons(host):
        value = f"{python.path}{', built from other versions' if python.stale else ''}" if python.ready else "not built"
        hint = f"trace-bench pythons create {python.name}"
        yield Diagnosis(f"python {python.name}", python.ready and not python.stale, value, hint)


def _commands(host: PluginHost) -> Iterator[Diagnosis]:
    """Yield the commands that tasks and trainers of plugins need, each with the plugins that need it."""
    catalog = host.catalog()
    asked: dict[Requirement, set[str]] = {}
    for kind, specs in (("task", catalog.tasks), ("trainer", catalog.trainers)):
        for identity, spec in specs.items():
            for requirement in spec.requires:
                if requirement.kind == "command":
                    asked.setdefault(requirement, set()).add(catalog.origin[kind, identity])
    for requirement, plugins in sorted(asked.items(), key=lambda item: item[0].name):
        missing = unmet_requirement((requirement,)) is not None
        value = f"{'not found' if missing else shutil.which(requirement.name) or 'not needed'}, for {', '.join(sorted(plugins))}"
        yield Diagnosis(f"command {Path(requirement.name).name}", not missing, value, requirement.hint)


def _asks_models(config: RunConfig, host: PluginHost) -> bool:
    """Say whether a job of a config asks a model; of one that cannot be expanded, which is told elsewhere, that one might."""
    try:
        return make_plan(config, host, environ=os.environ).asks_models
    except TraceBenchError:
        return True


def _models(config: RunConfig) -> Iterator[Diagnosis]:
    """Yield what the models of real mode need: a key each, and an endpoint that takes connections."""
    if config.mode != "real":
        yield Diagnosis("models", ok=True, value=f"`mode: {config.mode}` asks none")
        return
    asked = [
        (llm, role, name, model)
        for llm in llm_configs(config).values()
        for role, name, model in every_model(resolve_models(llm, mode=config.mode, environ=os.environ))
    ]
    keys = {key_variable(model_config(llm, role, name), model) for llm, role, name, model in asked}
    found = [*lacks(config, environ=os.environ)]
    for name in sorted(key for key in keys if key and os.environ.get(key)):
        yield Diagnosis(f"key {name}", ok=True, value="set", needed=True)
    for lack in found:
        yield Diagnosis(lack.subject, ok=False, value=lack.words, hint=lack.hint, needed=lack.is_sure)
    told = addresses(config, environ=os.environ)
    for url in sorted({model.base_url for *_, model in asked if model.base_url}):
        yield try_address(url, told.get(url))


def try_address(url: str, asked: str | None) -> Diagnosis:
    """Look whether a server stands at an address; where it speaks OpenAI's API elsewhere than at a `/v1`, whether that stands below it.

    Args:
        asked: where a server of OpenAI's API is asked; None for an address with rules of its own.
    """
    address = asked or url
    name, parts = f"endpoint {url}", urlsplit(address)
    if not _reachable(parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)):
        return Diagnosis(name, ok=False, value="does not answer", hint=f"curl -sv {address}/models", needed=True)
    if asked and not asked.endswith("/v1") and _status(f"{asked}/models") == HTTPStatus.NOT_FOUND:
        below = f"{asked.rstrip('/')}/v1"
        if _status(f"{below}/models") == HTTPStatus.OK:
            words = f"no list of models stands here, and one does at {below}"
            return Diagnosis(name, ok=False, value=words, hint=f"base_url: {below}", needed=True)
    elsewhere = f", asked at {address}" if address != url.rstrip("/") else ""
    return Diagnosis(name, ok=True, value=f"takes connections{elsewhere}", needed=True)


def _status(url: str) -> int | None:
    """Return the status that a server answers with; None where none answers over HTTP."""
    try:
        with urlopen(Request(url), timeout=ENDPOINT_SECONDS) as answer:  # noqa: S310 - an address of the config
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except (OSError, ValueError, HTTPException):
        return None


def _served(config: RunConfig, host: PluginHost) -> Iterator[Diagnosis]:
    """Yield whether the models that plugins serve can be served here."""
    if config.mode != "real":
        return
    models = (
        model
        for llm in llm_configs(config).values()
        for _, _, model in every_model(resolve_models(llm, mode="real", environ=os.environ))
    )
    for identity, spec in served(models, host).items():
        missing = unmet_requirement(spec.requires)
        value = f"needs the {missing.kind} `{missing.name}`" if missing else "can be served"
        hint = missing.hint if missing else ""
        yield Diagnosis(f"model {identity.provider}/{identity.model}", missing is None, value, hint, needed=True)


def _reachable(hostname: str, port: int) -> bool:
    return _succeeds(lambda: socket.create_connection((hostname, port), timeout=ENDPOINT_SECONDS).close())


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, UnicodeError):
        return False
    return True


def _selection(config: RunConfig, host: PluginHost) -> Iterator[Diagnosis]:
    """Yield what keeps the tasks and trainers of a config from running here."""
    catalog = host.catalog()
    for entry in config.tasks:
        try:
            reasons = {id_: catalog.availability(host.task(id_)) for id_ in resolve_task_ids(host, entry.id)}
        except TraceBenchError as err:
            yield Diagnosis(f"task {entry.id}", ok=False, value=str(err), hint=err.hint, needed=True)
            continue
        lacking = {id_: reason for id_, reason in reasons.items() if reason}
        value = "; ".join(f"{id_}: {reason}" for id_, reason in lacking.items()) or "can run"
        yield Diagnosis(f"task {entry.id}", not lacking, value, needed=True)
    for trainer in config.trainers:
        try:
            reason = catalog.availability(host.component("trainer", trainer.id))
        except TraceBenchError as err:
            yield Diagnosis(f"trainer {trainer.id}", ok=False, value=str(err), hint=err.hint, needed=True)
        else:
            yield Diagnosis(f"trainer {trainer.id}", not reason, reason or "can run", needed=True)
