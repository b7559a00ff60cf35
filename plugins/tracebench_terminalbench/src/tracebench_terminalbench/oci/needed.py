"""Which images the tasks of a config need, and whether they are unpacked here: known without Harbor."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tracebench_terminalbench.catalog import Case
from tracebench_terminalbench.job_config import backend_of, environment
from tracebench_terminalbench.oci.images import Store
from tracebench_terminalbench.oci.mapped import MappedError
from tracebench_terminalbench.options import MODELLESS, Options
from tracebench_terminalbench.program import brought

BACKEND = "oci"


class Needed(NamedTuple):
    """The image of one task."""

    slug: str
    store: Store
    source: str | Path
    """Its name, or the folder of its Dockerfile."""

    def is_ready(self) -> bool:
        """Tell whether it is unpacked already.

        Raises:
            MappedError: when nobody has it.
        """
        return self.store.holds(self.store.key_of(self.source))

    def prepare(self) -> Path:
        """Fetch, build and unpack it, and return where its files are.

        Raises:
            MappedError: when it cannot be had, built or unpacked.
        """
        made = self.store.image(self.source) if isinstance(self.source, str) else self.store.built(self.source)
        return made.root


def needed_images(options: Options, cases: Sequence[Case]) -> Iterator[Needed]:
    """Yield the image of each task on disk that runs without a container engine; Harbor alone knows tasks of a dataset.

    Raises:
        MappedError: when a task names none.
    """
    if backend_of(options, cases) != BACKEND:
        return
    store = store_of(options)
    for case in cases:
        if case.path is not None:
            yield Needed(case.slug, store, _source(case.path))


def prepare_agent(options: Options) -> None:
    """Gather what is brought of an agent that is installed here, where it is one."""
    if options.agent not in MODELLESS and (told := brought(options)):
        store_of(options).brought(told["brought"])


def store_of(options: Options) -> Store:
    """Return the store that a task's sandboxes are made from."""
    kwargs = environment(BACKEND, options.harbor_environment_kwargs)["kwargs"]
    asked = {name: kwargs[name] for name in ("registry", "image_mb") if name in kwargs}
    is_online = kwargs.get("network", "task") == "task"
    return Store(Path(kwargs["store"]), images=kwargs["images"], network=is_online, **asked)


def _source(task: Path) -> str | Path:
    try:
        settings = tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise MappedError(f"`{task / 'task.toml'}` cannot be read: {err}") from err
    table = settings.get("environment")
    image = table.get("docker_image") if isinstance(table, dict) else None
    if image is not None and not isinstance(image, str):
        raise MappedError(f"`docker_image` of `{task / 'task.toml'}` is no name of an image")
    if image is None and not (task / "environment/Dockerfile").is_file():
        raise MappedError(f"`{task.name}` has neither a `docker_image` nor a Dockerfile")
    return image or task / "environment"
