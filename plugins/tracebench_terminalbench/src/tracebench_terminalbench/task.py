"""The task: a text that guides the agent, measured by one Harbor job for a candidate on a batch of terminal tasks."""

from __future__ import annotations

import math
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tracebench_core.contracts import Context, Guide, NotMeasured
from tracebench_core.specs import Calibration, Endpoint, Example, Feedback, Split, Values
from tracebench_terminalbench.calibrations import known_cases
from tracebench_terminalbench.catalog import Case
from tracebench_terminalbench.found import Harbor
from tracebench_terminalbench.invariants import broken_invariants
from tracebench_terminalbench.job_config import Model, backend_of, grace, job_config, needs_door
from tracebench_terminalbench.launch import Ended, harbor_environ, run_job
from tracebench_terminalbench.options import MODELLESS, Options
from tracebench_terminalbench.program import forget, from_start
from tracebench_terminalbench.subject import parameter, parser, write_subject
from tracebench_terminalbench.transcript import digest, transcript
from tracebench_terminalbench.trials import Trial, read_trials

ENVIRONMENT = "harbor"
TRANSCRIPT = "transcript.txt"
SHARED = ("job.json", "command.txt", "stdout.txt", "stderr.txt")
OBJECTIVE = """\
Improve the {what} of an agent that solves tasks in a Linux terminal. \
Each task has an instruction, a time limit, and hidden tests that decide: the score is the mean reward, from 0 to 1. \
What you write must help on tasks that the agent has not seen: general ways of working, no solutions of single tasks."""
WHAT = {
    "advice": "advice in the prompt",
    "template": "prompt",
    "extra_instructions": "instructions that follow each task's own",
    "skill": "skill text",
    "files": "own code, prompt, tools and skills",
}


class TerminalTask:
    """Terminal tasks in splits. An example's input is its `Case`, an output the trials of one example."""

    def __init__(self, splits: Mapping[Split, Sequence[Case]], options: Options) -> None:
        self.options = options
        self.parameters = (parameter(options),)
        self.objective = OBJECTIVE.format(what=WHAT[options.optimize])
        self.splits: Mapping[Split, Sequence[Example]] = {
            split: tuple(Example(id=case.slug, input=case) for case in cases) for split, cases in splits.items()
        }
        self.guide: Guide = self._score

    def run(self, values: Values, example: Example, context: Context) -> list[Trial]:
        """Return the trials of one example."""
        outcome = self.run_batch(values, [example], [context])[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def run_batch(
        self, values: Values, examples: Sequence[Example], contexts: Sequence[Context]
    ) -> list[list[Trial] | Exception]:
        """Return the trials of each example, of one Harbor job; an example that occurs twice takes a second job."""
        outcomes: dict[int, list[Trial] | Exception] = {}
        for wave in _waves(examples):
            batch, doors = [examples[i] for i in wave], [contexts[i] for i in wave]
            outcomes.update(zip(wave, self._job(values, batch, doors), strict=True))
        return [outcomes[i] for i in range(len(examples))]

    def self_check(self) -> list[str]:
        """Return the tasks whose own solution fails, or that doing nothing solves."""
        cases = [example.input for examples in self.splits.values() for example in examples]
        return list(broken_invariants(self.options, cases))

    def calibrations(self) -> list[Calibration]:
        """Return what its own solution and doing nothing must come to, or that it cannot be measured here."""
        terminal = {split: [example.input for example in examples] for split, examples in self.splits.items()}
        return list(known_cases(self.options, terminal))

    def _job(
        self, values: Values, examples: Sequence[Example], contexts: Sequence[Context]
    ) -> list[list[Trial] | Exception]:
        first = contexts[0]
        folder = first.artifacts
        harbor = Harbor(**first.environment(ENVIRONMENT, command=self.options.harbor_command))
        is_framed = self.options.optimize == "advice"
        frame = harbor.template(parser(self.options)).read_text(encoding="utf-8") if is_framed else ""
        subject = write_subject(self.options, values[self.parameters[0].name], frame=frame, folder=folder)
        door = None if self.options.agent in MODELLESS else first.endpoint("agent")
        cases = [example.input for example in examples]
        first.activity(
            f"Harbor runs {len(cases)} terminal task{'s' if len(cases) > 1 else ''}", done=0, total=len(cases)
        )
        ended = run_job(
            harbor.command,
            job_config(
                self.options, cases,
                name=f"harbor-{uuid.uuid4().hex[:12]}",  # Harbor resumes a job of a name that it knows, with the old rewards
                folder=folder, subject=subject, model=_model(self.options, door),
            ),
            folder=folder,
            environ=harbor_environ(
                os.environ,
                extra=self.options.extra_env,
                api_key=door.api_key.get_secret_value() if door else None,
                base_url=door.base_url if door and needs_door(self.options) else None,
            ),
            env_file=from_start(self.options.harbor_env_file),
            seconds=_seconds(self.options, first),
            grace=grace(self.options, cases),
            check=first.check,
        )  # fmt: skip
        if door and needs_door(self.options):
            forget(ended.folder, door.api_key.get_secret_value())
        if not ended.folder.exists():
            raise NotMeasured(f"Harbor refused the job: {ended.said or f'exit code {ended.returncode}'}", retry=False)
        first.activity(f"Harbor has run {len(cases)} terminal tasks", done=len(cases), total=len(cases))
        return _shared_out(ended, examples, contexts, backend=backend_of(self.options, cases))

    def _score(self, example: Example, output: Sequence[Trial], context: Context) -> Feedback:
        """Return the mean reward of an example's trials, with what an optimizer may learn from the last of them."""
        scored = [trial for trial in output if trial.reward is not None]
        last = output[-1]
        told = set.intersection(*(set(trial.usage) for trial in output))  # what one of them does not tell has no sum
        metrics = {name: math.fsum(trial.usage[name] for trial in output) for name in sorted(told)}
        named = set.intersection(*(set(trial.rewards) for trial in scored)) - {"reward"}
        extra = {name: math.fsum(trial.rewards[name] for trial in scored) / len(scored) for name in sorted(named)}
        reward = math.fsum(trial.reward or 0.0 for trial in scored) / len(scored)
        out_of_time = float(sum(trial.timed_out for trial in output))
        return Feedback(
            score=reward,
            text=digest(last),
            metrics={
                **extra,
                **metrics,
                "reward": reward,
                "attempts": float(len(output)),
                "agent_timeouts": out_of_time,
            },
        )


def _shared_out(
    ended: Ended, examples: Sequence[Example], contexts: Sequence[Context], *, backend: str
) -> list[list[Trial] | Exception]:
    """Give each example its trials, and its artifacts folder what belongs to it."""
    trials = read_trials(ended.folder)
    home = contexts[0].artifacts
    outcomes: list[list[Trial] | Exception] = []
    for example, context in zip(examples, contexts, strict=True):
        folder = context.artifacts
        if folder != home:
            for name in SHARED:
                shutil.copyfile(home / name, folder / name)
        own = [_moved(trial, folder) for trial in trials if trial.slug == example.input.slug]
        (folder / TRANSCRIPT).write_text("\n".join(map(transcript, own)), encoding="utf-8", errors="backslashreplace")
        outcomes.append(_outcome(own, ended))
        place = f"{folder.parent.name}/{folder.name}/{TRANSCRIPT}"
        context.record("trials", {"transcript": place, "backend": backend, "trials": [t.folder.name for t in own]})
    return outcomes


def _outcome(trials: Sequence[Trial], ended: Ended) -> list[Trial] | Exception:
    if not trials:
        return NotMeasured(f"Harbor ran no trial of this task: {ended.said[-600:]}")
    failed = next((trial for trial in trials if trial.reward is None), None)
    if failed is None:
        return list(trials)
    if ended.out_of_time:
        return NotMeasured("the Harbor job ran past `harbor_cli_timeout_seconds`", retry=False)
    return NotMeasured(f"nothing was measured: {failed.error}", suspect=failed.suspect)


def _moved(trial: Trial, folder: Path) -> Trial:
    """Put a trial's folder where the evaluation's artifacts are, and return the trial as it is there."""
    there = folder / "trials" / trial.folder.name
    there.parent.mkdir(exist_ok=True)
    with suppress(FileNotFoundError):
        trial.folder.rename(there)
    return trial.at(there)


def _model(options: Options, door: Endpoint | None) -> Model | None:
    if door is None:
        return None
    if options.harbor_model and options.harbor_model.rpartition("/")[2] != door.model.rpartition("/")[2]:
        raise NotMeasured(
            f"`harbor_model` is `{options.harbor_model}`, and the role `agent` has the model `{door.model}`: "
            f"name it under `llm: {{roles: {{agent: {{model: …}}}}}}` of the config",
            retry=False,
        )
    return Model(door.base_url, door.model)


def _seconds(options: Options, context: Context) -> float | None:
    limits = [limit for limit in (options.harbor_cli_timeout_seconds, context.deadline) if limit is not None]
    return min(limits, default=None)


def _waves(examples: Sequence[Example]) -> Iterator[list[int]]:
    """Yield positions such that no example occurs twice in a wave."""
    left = list(range(len(examples)))
    while left:
        seen: dict[str, int] = {}
        for i in left:
            seen.setdefault(examples[i].id, i)
        wave = sorted(seen.values())
        yield wave
        left = [i for i in left if i not in wave]
