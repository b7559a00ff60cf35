"""What a calibration holds for: this machine, and the code that measures."""

from __future__ import annotations

import os
import platform
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from tracebench_core.plugins import PluginHost
from tracebench_core.specs import Judge, Spec, TaskSpec

DIGITS = 16
CORE = "tracebench-core"


class Machine(Spec):
    """One machine, told apart from others of its kind by a digest of its own id, which is not kept."""

    id: str
    words: str
    """What it is: processor, how many, graphics processors."""


@cache
def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    words = ", ".join([_processor(), f"{os.cpu_count()} CPUs", *_graphics()])
    own = next((text for name in ("/etc/machine-id", "/proc/sys/kernel/hostname") if (text := _read(name))), "")
    return Machine(id=sha256(f"{own}\n{words}".encode()).hexdigest()[:DIGITS], words=words)


def judge_of(host: PluginHost, task_id: str, spec: TaskSpec) -> Judge:
    """Return what scores a task's candidates here.

    Its digest is of the files of the plugin's package, whatever they are written in, of the core's own suites those beside the task, and of
    the core's version.
    """
    plugin, loader = task_id.partition(":")[0], spec.loader.partition(":")[0]
    record = host.records[plugin]
    core = host.records["core"].version if "core" in host.records else ""
    version = f"{record.distribution} {record.version}"
    told = version if record.distribution == CORE or not core else f"{version}, {CORE} {core}"
    package = loader.rpartition(".")[0] if record.distribution == CORE else loader.partition(".")[0]
    return Judge(version=told, digest=sha256(f"{plugin}\0{core}\0{_sources(package)}".encode()).hexdigest()[:DIGITS])


@cache
def _sources(package: str) -> str:
    """Return a digest of a package's files, but what Python made of them; of a single module's where it is none."""
    try:
        found = find_spec(package)
    except (ImportError, ValueError):  # a module made of a file, whose content stands in the task's id
        found = None
    if found is None:
        return ""
    folders = [Path(folder) for folder in found.submodule_search_locations or ()]
    files = [(path.relative_to(folder), path) for folder in folders for path in folder.rglob("*") if _is_source(path)]
    if not folders and found.origin is not None:
        files = [(Path(package), Path(found.origin))]
    digest = sha256()
    for name, path in sorted(files):
        digest.update(f"{name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _is_source(path: Path) -> bool:
    return path.is_file() and path.parent.name != "__pycache__"


def _processor() -> str:
    lines = _read("/proc/cpuinfo").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _graphics() -> list[str]:
    cards = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    models = [
        line.partition(":")[2].strip() for card in cards for line in _read(str(card)).splitlines() if "Model:" in line
    ]
    return [f"{models.count(model)} {model}" for model in dict.fromkeys(models)]


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
