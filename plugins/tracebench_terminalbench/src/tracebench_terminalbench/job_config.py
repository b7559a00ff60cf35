"""The configuration of one Harbor job, as Harbor's `-c` reads it. Field names outlive flags, so there are no flags."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from tracebench_engine.api.interpreters import data_folder
from tracebench_terminalbench.catalog import TOYS, Case
from tracebench_terminalbench.oci.sources import split_place
from tracebench_terminalbench.program import STARTED, TERMINUS, brought, is_program, start

if TYPE_CHECKING:
    from tracebench_terminalbench.options import Options

LOCAL = "tracebench_harbor.environment:LocalEnvironment"
IMAGES = "tracebench_harbor.image_environment:ImageEnvironment"
HERE = ("local", "oci")
"""Backends whose sandboxes are this machine's own namespaces, and end with Harbor."""
TEMPLATE = "tracebench_harbor.agent:TemplateTerminus2"
PROGRAM = "tracebench_harbor.program:ProgramAgent"
STORE = "TRACEBENCH_IMAGES"
"""The variable that names the folder of unpacked images, in place of `trace-bench/images` in the user's data folder."""
GRACE, LOCAL_GRACE = 10.0, 1.0
SIDE = Path(__file__).parent / "harbor_side"
"""A folder for Harbor's own Python: it imports Harbor and the standard library, nothing of ours."""


class Model(NamedTuple):
    """The agent's model behind the gateway's door."""

    base_url: str
    name: str


def job_config(
    options: Options,
    cases: Sequence[Case],
    *,
    name: str,
    folder: Path,
    subject: Mapping[str, Any],
    model: Model | None,
) -> dict[str, Any]:
    """Return the configuration of a job that runs every case `attempts` times; its files go to `folder/name`."""
    return {
        "job_name": name,
        "jobs_dir": str(folder),
        "n_attempts": options.attempts,
        "n_concurrent_trials": options.concurrency,
        "quiet": True,
        "environment": environment(
            backend_of(options, cases), {**_door(options, cases, model), **options.harbor_environment_kwargs}
        ),
        "agents": [_agent(options, subject, model)],
        "extra_instructions": list(subject.get("extra_instructions", ())),
        **_sources(options, cases),
    }


def backend_of(options: Options, cases: Sequence[Case]) -> str:
    """Return where sandboxes run: as configured, else here for tasks of ours, which need no image, and in Docker for others."""
    ours = all(case.path is not None and case.path.is_relative_to(TOYS) for case in cases)
    return options.harbor_env or ("local" if ours else "docker")


def grace(options: Options, cases: Sequence[Case]) -> float:
    """Return the seconds between SIGTERM and SIGKILL: sandboxes here end with Harbor, containers elsewhere must be removed by it."""
    if options.grace is not None:
        return options.grace
    return LOCAL_GRACE if backend_of(options, cases) in HERE else GRACE


def environment(backend: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return Harbor's entry for a backend."""
    if backend == "local":
        return {"import_path": LOCAL, "kwargs": dict(kwargs)}
    if backend == "oci":
        ours = {"python": sys.executable, "store": str(data_folder(STORE, "images"))}
        places = {"images": {name: _from_here(place) for name, place in kwargs.get("images", {}).items()}}
        return {"import_path": IMAGES, "kwargs": {**ours, **kwargs, **places}}
    if ":" in backend:
        return {"import_path": backend, "kwargs": dict(kwargs)}
    return {"type": backend, "kwargs": dict(kwargs)}


def _from_here(place: str) -> str:
    """Return the place of an image with its path from the root: jobs and Harbor run in other folders."""
    path, tag = split_place(place)
    whole = STARTED / Path(path).expanduser()
    return (f"{whole}:{tag}" if tag else str(whole)) if whole.exists() else place


def needs_door(options: Options) -> bool:
    """Tell whether the agent asks its model from inside of the sandbox; of a class of the user's own nobody knows."""
    return is_program(options.agent) or not (options.agent == TERMINUS or ":" in options.agent)


def _door(options: Options, cases: Sequence[Case], model: Model | None) -> dict[str, Any]:
    """Return what sandboxes that lead to the gateway are told: its address, and what is brought of an agent that is installed here."""
    if model is None or not needs_door(options) or backend_of(options, cases) not in HERE:
        return {}
    return {"door": urlsplit(model.base_url).netloc, **brought(options)}


def _agent(options: Options, subject: Mapping[str, Any], model: Model | None) -> dict[str, Any]:
    if model is None:
        return {"name": options.agent}
    usual = {"record_terminal_session": False} if options.agent == TERMINUS else {}
    asks_itself = needs_door(
        options
    )  # by `OPENAI_BASE_URL`; most of Harbor's own refuse a setting that they do not know
    kwargs = {**usual, **options.agent_kwargs, **({} if asks_itself else {"api_base": model.base_url})}
    agent: dict[str, Any] = {"model_name": f"openai/{model.name}", "kwargs": kwargs}
    if is_program(options.agent):
        own = start(options, folder=subject.get("folder"))
        agent |= {"import_path": PROGRAM, "kwargs": {**own, "gateway": model.base_url, "model": model.name}}
    elif "template" in subject:
        kwargs["prompt_template_path"] = subject["template"]
        agent["import_path"] = TEMPLATE
    else:
        agent["import_path" if ":" in options.agent else "name"] = options.agent
    if "skills" in subject:
        agent["skills"] = list(subject["skills"])
    return agent


def _sources(options: Options, cases: Sequence[Case]) -> dict[str, Any]:
    paths = [{"path": str(case.path)} for case in cases if case.path is not None]
    slugs = [case.slug for case in cases if case.path is None]
    return {"tasks": paths, "datasets": [{**dataset(options.harbor_dataset), "task_names": slugs}] if slugs else []}


def dataset(written: str) -> dict[str, str]:
    """Return Harbor's entry for `name@version` of the registry or `org/name[@ref]` of the hub."""
    name, _, version = written.partition("@")
    if not version:
        return {"name": name}
    return {"name": name, "ref" if "/" in name else "version": version}
