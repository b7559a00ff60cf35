"""What a run needs around its jobs: the gateway, a sandbox server per suite, shared caps, a scrubbed environment."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from tracebench_core import money
from tracebench_core.ids import canonical_json
from tracebench_core.plugins import HOME, PluginHost, is_file_plugin
from tracebench_core.specs import (
    OF_CALLS,
    Axis,
    BudgetState,
    Component,
    ExecutorSetting,
    JobOrder,
    JobSpec,
    ModelIdentity,
    ProviderSpec,
    Role,
    Sealed,
    SharedLimits,
    StubFormatSpec,
    TaskSpec,
)
from tracebench_core.specs.events import LLMCall
from tracebench_engine.checks.calibration.instruments import Instruments
from tracebench_engine.checks.placing import most, uses
from tracebench_engine.job.budget import SharedCounter
from tracebench_engine.matrix.plan import Plan
from tracebench_engine.matrix.providers import addressed, base_url, served, told
from tracebench_engine.run.open_files import demand_open_files
from tracebench_engine.run.pause import OutagePause
from tracebench_engine.run.supervisor import SupervisedEnvironments, SupervisedSandbox, Supervisor
from tracebench_gateway.credentials import without_secrets
from tracebench_gateway.models import every_model
from tracebench_gateway.variants import llm_configs
from tracebench_runs.journal.journal import TrainedRecord
from tracebench_runs.meta.planned import kinds_of
from tracebench_runs.storage.layout import RunLayout
from tracebench_sandbox import temporary

if TYPE_CHECKING:
    from tracebench_gateway.gateway_process import GatewayHandle
    from tracebench_gateway.server.settings import ShippedAnswers
    from tracebench_runs.reading.compare import RecordedJobs

MODEL_MODULES = ("tracebench_gateway.client", "encodings.idna")
"""The second is what http.client needs for any host."""
SANDBOX_MODULES = ("tracebench_sandbox.client", "tracebench_sandbox.granted")

_Held = tuple[tuple[str, ...], tuple[str, ...]]
"""What tells sandbox servers apart: the modules that are loaded, and the folders that may be read."""


class RunServices:
    """Opened around the jobs of one runner process; closing it leaves no process behind."""

    def __init__(
        self,
        plan: Plan,
        host: PluginHost,
        layout: RunLayout,
        *,
        root: Path | None,
        environ: Mapping[str, str],
        reuse: bool = True,
    ) -> None:
        """`reuse`: of a recorded run, jobs that run again go through their finished calls without paying again."""
        self._plan = plan
        self._own_secret = secrets.token_hex(16)  # what dies with the runner may pass for measurements
        self._reuse = reuse
        self._host, self._layout = host, layout
        self._run_dir = str(layout.path.resolve())
        self._root = root
        self._environ = without_secrets(environ, *llm_configs(plan.config).values()) | {HOME: str(Path.cwd())}
        self._stack = ExitStack()
        self._gateway: GatewayHandle | None = None
        self._sandboxes: dict[_Held, SupervisedSandbox] = {}
        self._environments: SupervisedEnvironments | None = None
        self.supervisor = Supervisor(())
        """Of gateway and sandbox servers."""
        self._deaths_at_start: dict[str, tuple[int, int]] = {}
        self._limits = SharedLimits()
        self._served = self._find_served()
        self._urls: dict[ModelIdentity, str] = {}
        self._outages: OutagePause | None = None
        self._recorded: RecordedJobs | None = None
        self._instruments = Instruments(plan, host, root=root)

    def __enter__(self) -> RunServices:
        demand_open_files(self._layout)
        self._instruments.settle()
        temporary.sweep(_remove)
        private = temporary.make_folder()
        self._stack.callback(_remove, private)
        try:
            self._open_environments()
            self._serve_models()
            self._open_sandboxes(private)
            self._open_gateway()
            self.supervisor = Supervisor([*self._sandboxes.values(), *filter(None, [self._gateway])])
            self._stack.callback(self.supervisor.close)
            self._watch_for_outages()
        except BaseException:
            self._stack.close()
            raise
        cap = self._plan.config.run_budget
        self._limits = SharedLimits(
            evaluations=cap.evaluations,
            counter=str(self._layout.path.resolve() / "evaluations.count") if cap.evaluations is not None else None,
            deadline=time.monotonic() + cap.seconds if cap.seconds is not None else None,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def setting(self) -> ExecutorSetting:
        """What the executor needs to know."""
        config = self._plan.config
        used = self._used_components()
        specs: list[TaskSpec | Component] = [*self._plan.tasks.values(), *(spec for _, spec in used)]
        modules = [m for spec in specs for m in (*spec.preload, spec.loader.partition(":")[0])]
        plugins = self._host.offerers(self._users()) | {id_.partition(":")[0] for id_ in self._plan.tasks}
        plugins |= {plugin for id_, _ in used if is_file_plugin(plugin := id_.rpartition(":")[0])}
        return ExecutorSetting(
            run_dir=self._run_dir,
            workers=config.max_workers,
            environ=self._environ,
            preload=tuple(dict.fromkeys([*self._own_modules(), *modules])),
            load=tuple(sorted(plugins)),
            root=str(self._root) if self._root else None,
            plugins=config.plugins,
            require=config.sandbox.require if self._sandboxes else None,
            resources=most(self._plan),
            uses=uses(self._plan, self._host),
        )

    def order(
        self,
        job: JobSpec,
        trained: TrainedRecord | None = None,
        *,
        relatives: tuple[str, ...] = (),
        secret: str = "",
    ) -> JobOrder:
        """Return a job's order, of a training that is over that of its scoring; `relatives` may lend it measurements.

        `secret` keys what its scoring keeps for another in its place, with this runner or one that follows it.
        """
        config, name = self._plan.config, _answers_of(job)
        access = None
        if self._gateway is not None:
            access = self._gateway.register(
                job.job_id,
                budget=job.budget,
                seed=job.seed,
                models=self._models(job),
                variant=job.llm_variant,
                recorded=self._recorded.find(job) if self._recorded is not None else "",
                hints={"answers": name} if name in self._shipped else told(job, self._served.values()),
                attempt=trained.attempt if trained is not None else "",
            )
        salts = self._plan.salts.by_split if self._plan.salts is not None and job.salt is not None else {}
        instrument = self._instruments.of(job)
        server = self._server_of(job)
        self._deaths_at_start[job.job_id] = self._deaths(job, dying=False)
        order = JobOrder(
            job=job,
            run_dir=self._run_dir,
            access=access.for_training().model_dump(mode="json") if access else None,
            salts={split: salt for split, salt in salts.items() if split != "test"},
            sealed=Sealed(
                salts={split: salt for split, salt in salts.items() if split == "test"},
                keys=access.scoring_keys if access else {},
                record=f"{secret} {self._own_secret if self.leans(job) else ''}",
            ),
            eval_workers=config.eval_workers,
            sandbox=config.sandbox,
            sandbox_address=server.address if server else None,
            isolation=server.level if server else "",
            plugins=config.plugins,
            root=str(self._root) if self._root else None,
            limits=self._limits,
            environments=self._environments.address if self._environments else None,
            scoring_timeout=config.scoring_timeout or None,
            evaluation_retries=config.evaluation_retries,
            fail_on_error=config.fail_on_error,
            relatives=relatives,
            judge=instrument.judge,
            calibration=instrument.calibration,
            refusal=instrument.refusal,
        )
        return order if trained is None else order.for_scoring(ended=trained.ended, is_anew=True)

    def attempt(self, job: JobSpec) -> str:
        """Return by which name the gateway knows a job's present attempt; empty where no model is asked."""
        return self._gateway.attempt(job.job_id) if self._gateway is not None else ""

    def calls(self, job: JobSpec, *, after: int) -> list[LLMCall]:
        """Return a job's metered calls with numbers above `after`."""
        return [] if self._gateway is None else self._gateway.records(job.job_id, after)

    def release(self, job: JobSpec) -> None:
        """Forget a finished job's calls in the gateway."""
        if self._gateway is not None:
            with suppress(OSError):  # a gateway that is just being started again has forgotten them anyway
                self._gateway.release(job.job_id)

    def is_spoiled(self, job: JobSpec) -> bool:
        """Tell whether the job's sandbox server, or what holds its environments, died meanwhile: it may pass for a measurement."""
        if (server := self._server_of(job)) is not None:
            self.supervisor.look(server)
        return self._deaths(job) != self._deaths_at_start[job.job_id]

    def leans(self, job: JobSpec) -> bool:
        """Tell whether the job stands on processes that die with this runner, or before it."""
        return self._server_of(job) is not None or self._holder_of(job) is not None

    def _deaths(self, job: JobSpec, *, dying: bool = True) -> tuple[int, int]:
        server, held = self._server_of(job), self._holder_of(job)
        of_held = 0 if held is None else held.deaths if dying else held.replaced
        return server.deaths if server else 0, of_held

    def _holder_of(self, job: JobSpec) -> SupervisedEnvironments | None:
        task = self._plan.tasks[job.task_id]
        return self._environments if task.environments or task.dataset or self._urls else None

    @property
    def is_paused(self) -> bool:
        """Whether the run waits for its provider to come back, or for what holds its environments."""
        return any(one is not None and one.is_away for one in (self._environments, self._outages))

    def used(self) -> dict[Axis, float | None]:
        """Return what the run used so far, on the axes of its budget that add up over jobs."""
        counted: dict[Axis, float | None] = {}
        if self._limits.counter is not None:
            counted["evaluations"] = SharedCounter(self._limits.counter).value()
        if self._gateway is not None:
            used, _ = self._run_spent(self._gateway)
            counted |= {axis: getattr(used, axis) for axis in OF_CALLS}
        return counted

    def overshoot(self) -> dict[Axis, float]:
        """Return how far the run went past its own caps, by axis."""
        caps, used = self._plan.config.run_budget.caps(), self.used()
        past = {axis: n for axis, n in used.items() if axis in caps and n is not None and n > caps[axis]}
        return {axis: money.less(n, caps[axis]) for axis, n in past.items()}

    def spent(self) -> Axis | None:
        """Return the axis on which the run's budget is spent, if it is."""
        caps = self._plan.config.run_budget.caps()
        if self._limits.deadline is not None and time.monotonic() >= self._limits.deadline:
            return "seconds"
        counted: dict[Axis, float | None] = {}
        if self._limits.counter is not None:
            counted["evaluations"] = SharedCounter(self._limits.counter).value()
        if self._gateway is not None and caps.keys() & OF_CALLS:
            used, refused = self._run_spent(self._gateway)
            if refused is not None:  # what is left pays for no call
                return refused
            counted |= {axis: getattr(used, axis) for axis in OF_CALLS}
        return next(
            (a for a, amount in counted.items() if a in caps and amount is not None and amount >= caps[a]), None
        )

    def _run_spent(self, gateway: GatewayHandle) -> tuple[BudgetState, Axis | None]:
        try:
            return gateway.run_used(), gateway.run_refusal()
        except ConnectionError:  # it was killed while it was asked
            self.supervisor.look(gateway)
            return gateway.run_used(), gateway.run_refusal()

    def _server_of(self, job: JobSpec) -> SupervisedSandbox | None:
        return self._sandboxes.get(_held(self._plan.tasks[job.task_id]))

    def _used_components(self) -> list[tuple[str, Component]]:
        """Return the trainers and proposers of this run by name; one of each kind may share a name."""
        proposers = {job.optimizer for job in kinds_of(self._plan.jobs) if job.optimizer}
        return [*self._plan.trainers.items(), *((name, self._host.component("optimizer", name)) for name in proposers)]

    def _users(self) -> list[tuple[str, str]]:
        """Return the tasks, trainers and proposers of this run, each with its kind."""
        users = [("task", id_) for id_ in self._plan.tasks] + [("trainer", id_) for id_ in self._plan.trainers]
        return users + [("optimizer", name) for name in {job.optimizer for job in kinds_of(self._plan.jobs)} if name]

    def _own_modules(self) -> list[str]:
        """Return the modules of ours that the jobs of this run use."""
        return [*(MODEL_MODULES if self._plan.asks_models else ()), *(SANDBOX_MODULES if self._sandboxes else ())]

    def _stub_formats(self) -> list[StubFormatSpec]:
        """Return what the stub learns: the formats of the plugins whose tasks, trainers and proposers this run has."""
        found = self._host.offered_with("stub_format", self._users()) if self._plan.config.mode == "stub" else []
        return [spec for spec in found if isinstance(spec, StubFormatSpec)]

    @cached_property
    def _shipped(self) -> dict[str, ShippedAnswers]:
        """What the tasks of this run ship for the stub that shows it, by task and options."""
        from tracebench_gateway.server.settings import ShippedAnswers  # noqa: PLC0415 - runs without a model need none

        config = self._plan.config
        if config.mode != "stub" or config.llm.stub != "answers":
            return {}
        return {
            _answers_of(job): ShippedAnswers(task_id=job.task_id, loader=loader, options=job.eval_kwargs)
            for job in kinds_of(self._plan.jobs)
            if (loader := self._plan.tasks[job.task_id].answers) is not None
        }

    def _open_sandboxes(self, private: Path) -> None:
        needed = {_held(spec) for spec in self._plan.tasks.values() if spec.sandbox is not None}
        for i, (modules, readable) in enumerate(sorted(needed)):
            folder = private / f"sandbox-{i}"
            folder.mkdir(mode=0o700)
            server = SupervisedSandbox(modules, self._plan.config.sandbox, folder=folder, readable=readable)
            self._stack.callback(server.close)
            self._sandboxes[modules, readable] = server

    def _open_environments(self) -> None:
        of_tasks = any(spec.environments or spec.dataset for spec in self._plan.tasks.values())
        if not of_tasks and not any(spec.environment for spec in self._served.values()):
            return
        self._environments = SupervisedEnvironments(self.setting, renewed=self._serve_models)
        self._stack.callback(self._environments.close)

    def _watch_for_outages(self) -> None:
        limit = self._plan.config.llm.outage_limit
        if self._gateway is not None and self._plan.config.mode == "real" and limit:
            self._outages = OutagePause(self._gateway.away, limit=limit)
            self._stack.callback(self._outages.close)

    def _find_served(self) -> dict[ModelIdentity, ProviderSpec]:
        config = self._plan.config
        if config.mode != "real" or not self._plan.asks_models or not self._plan.jobs:
            return {}
        of_variants = {job.llm_variant: job.models for job in kinds_of(self._plan.jobs)}
        return served((m for models in of_variants.values() for _, _, m in every_model(models)), self._host)

    def _serve_models(self) -> None:
        address, before = self._environments.address if self._environments else None, {*self._urls.values()}
        self._urls = {identity: base_url(identity, spec, address) for identity, spec in self._served.items()}
        if self._gateway is not None:
            self._gateway.give_up(before.difference(self._urls.values()))

    def _models(self, job: JobSpec) -> dict[Role, ModelIdentity]:
        return {role: addressed(identity, self._urls) for role, identity in job.models.items()}

    def _open_gateway(self) -> None:
        if not self._plan.asks_models:
            return
        from tracebench_gateway.gateway_process import start_gateway  # noqa: PLC0415 - runs without a model need none
        from tracebench_sandbox.forkserver import launch  # noqa: PLC0415 - as below

        config = self._plan.config
        replay = Path(config.replay_from) if config.replay_from else None
        if replay is not None and config.mode == "replay":
            from tracebench_runs.meta.planned import iter_jobs  # noqa: PLC0415
            from tracebench_runs.reading.compare import RecordedJobs  # noqa: PLC0415 - for replays alone

            self._recorded = RecordedJobs(iter_jobs(RunLayout(replay)))
        self._gateway = start_gateway(
            config.llm,
            variants=llm_configs(config) if config.llm_variants else None,
            mode=config.mode,
            run_dir=self._layout.path,
            run_budget=config.run_budget,
            scoring_budget=config.scoring_budget,
            replay_from=replay,
            reuse=self._reuse,
            stub_formats=self._stub_formats(),
            stub_answers=self._shipped,
            launch=launch,
        )
        self._stack.callback(self._gateway.close)


def _answers_of(job: JobSpec) -> str:
    return f"{job.task_id} {canonical_json(job.eval_kwargs).decode()}"


def _held(spec: TaskSpec) -> _Held:
    return spec.sandbox or (), spec.readable


def _remove(private: Path) -> None:
    from tracebench_sandbox.folders import remove  # noqa: PLC0415 - beside the sandbox's own folders

    with suppress(OSError):
        remove(private)
