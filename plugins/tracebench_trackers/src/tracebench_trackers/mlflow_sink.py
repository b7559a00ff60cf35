"""`MLflowLogger`: a run is a parent run, a job a run inside it, found again by their tags in every process of the job."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tracebench_runs import JobLayout
from tracebench_trackers.readings import Configured, Ended, Kept, Numbers, Reading
from tracebench_trackers.settings import MLflowSettings
from tracebench_trackers.sink import Sink, Tracker

if TYPE_CHECKING:
    from mlflow import MlflowClient

RUN, JOB, PARENT = "tracebench.run", "tracebench.job", "mlflow.parentRunId"
LONGEST = 6_000
"""Characters of a parameter that MLflow keeps."""
LONGEST_TAG = 5_000
LONGEST_NAME = 200
"""Of a name before its digest; MLflow keeps 250 characters."""
ODD = re.compile(r"[^\w.\- /:]|(?<![^/])\.{0,2}(?=/|$)")
"""What MLflow takes in no name: most signs, and what would make it another path."""
CHANGED = "tracebench.now."
"""How tags begin that tell of a parameter, which nobody can change, what it is since."""
MOST_AT_A_TIME = 100
ONCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "5"}
"""Of MLflow's own: it tries for minutes otherwise. What the user has set stays."""


class MLflowLogger(Sink):
    """Sends a job to MLflow."""

    model = MLflowSettings
    settings: MLflowSettings

    def open(self) -> MLflowJob:
        """Find or make the job's run and its parent."""
        for name, value in ONCE.items():
            os.environ.setdefault(name, value)
        from mlflow import MlflowClient  # noqa: PLC0415 - an extra

        layout = JobLayout(self.job_dir)
        store = _store(self.settings.tracking_uri, layout.run.path.parent)
        with _alone(str(store.uri)):  # a new database is made, and two that make it at once break it
            client = MlflowClient(store.uri)
        return MLflowJob(client, self.settings.experiment, layout, artifacts=store.artifacts)


class MLflowJob(Tracker):
    """One job as a run of MLflow."""

    def __init__(self, client: MlflowClient, experiment: str, layout: JobLayout, *, artifacts: str | None) -> None:
        """`artifacts`: where those of a new experiment go; None leaves it to the server."""
        self._client = client
        self._layout = layout
        run_dir = layout.run.path
        with _alone(f"{client.tracking_uri} {experiment}"):
            found = client.get_experiment_by_name(experiment)
            home = found.experiment_id if found is not None else client.create_experiment(experiment, artifacts)
            mark = f"{run_dir.name} {hashlib.sha256(str(run_dir.absolute()).encode()).hexdigest()[:12]}"
            self._parent = self._run(home, {RUN: mark}, name=run_dir.name)
            self._id = self._run(home, {JOB: f"{mark} {layout.job_id}", PARENT: self._parent}, name=layout.job_id)

    def take(self, reading: Reading) -> None:
        """Write a reading."""
        from mlflow.entities import Metric, Param  # noqa: PLC0415 - an extra

        match reading:
            case Configured(name, values):
                self._client.update_run(self._id, name=name)
                known = self._client.get_run(self._id).data.params
                given = {named(key): value[:LONGEST] for key, value in values.items()}
                for key in [key for key, value in given.items() if known.get(key, value) != value]:
                    self._client.set_tag(self._id, f"{CHANGED}{key}", given[key][:LONGEST_TAG])
                params = [Param(key, value) for key, value in given.items() if key not in known]
                for start in range(0, len(params), MOST_AT_A_TIME):
                    self._client.log_batch(self._id, params=params[start : start + MOST_AT_A_TIME])
            case Numbers(values, at):
                now = int(time.time() * 1000)
                self._client.log_batch(
                    self._id, [Metric(named(key), value, now, at or 0) for key, value in values.items()]
                )
            case Kept(name, text, None):
                self._client.log_text(self._id, text, name)
            case Kept(_, _, path):
                self._client.log_artifact(self._id, str(path))
            case Ended(status, stop_reason):
                self._client.set_tag(self._id, "tracebench.status", f"{status}: {stop_reason}")
                if self._layout.run.config_snapshot.is_file():
                    self._client.log_artifact(self._parent, str(self._layout.run.config_snapshot))
                self._client.set_terminated(self._id, "FINISHED" if status == "ok" else "FAILED")
                self._client.set_terminated(self._parent, "FINISHED")

    def close(self) -> None:
        """MLflow holds nothing open."""

    def _run(self, experiment: str, tags: Mapping[str, str], *, name: str) -> str:
        """Return the id of the run with the first of the tags; it is made when there is none."""
        key, value = next(iter(tags.items()))
        there: list[Any] = self._client.search_runs([experiment], f"tags.`{key}` = '{value}'", max_results=1)
        run = there[0] if there else self._client.create_run(experiment, tags=dict(tags), run_name=name)
        return str(run.info.run_id)


def named(name: str) -> str:
    """Return a name as MLflow takes it; what is changed in it, or cut off, is told from others by a digest."""
    safe = ODD.sub("_", name)[:LONGEST_NAME]
    return name if safe == name else f"{safe}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


class _Store(NamedTuple):
    uri: str | None
    artifacts: str | None


def _store(uri: str | None, folder: Path) -> _Store:
    """Return a store with a relative file put into a folder, and where its artifacts go if it is a file of this machine."""
    head, found, file = (uri or os.environ.get("MLFLOW_TRACKING_URI", "")).partition("sqlite:///")
    if head or not found:
        return _Store(uri, None)
    path = folder / file
    return _Store(f"sqlite:///{path}", (path.parent / "mlartifacts").absolute().as_uri())


@contextmanager
def _alone(what: str) -> Iterator[None]:
    """Let one process of this machine at a time look and make: two jobs that begin together have one parent."""
    name = hashlib.sha256(what.encode()).hexdigest()[:16]
    with (Path(tempfile.gettempdir()) / f"tracebench-mlflow-{os.getuid()}-{name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
