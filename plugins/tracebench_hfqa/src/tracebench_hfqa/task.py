"""A question-answering task: rows, a program with trainable parts, and the guide of the rows' family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from tracebench_core.contracts import Context, Guide
from tracebench_core.errors import ConfigError
from tracebench_core.specs import Example, Parameter, Split, TaskSizes, Values
from tracebench_hfqa.entry import Entry, ProgramName
from tracebench_hfqa.families import find_family
from tracebench_hfqa.guide import QAGuide, TokenGuide
from tracebench_hfqa.options import TaskOptions, TokenOptions
from tracebench_hfqa.programs import PROGRAMS
from tracebench_hfqa.programs.base import Program
from tracebench_hfqa.rows.opening import ORDER, Opened, open_rows
from tracebench_hfqa.state import find_entry, settings

ALL = frozenset(ORDER)


class QATask:
    """One data set and one program."""

    def __init__(self, *, program: Program, guide: Guide, rows: Opened, objective: str, repeats: int) -> None:
        self._program, self._repeats = program, repeats
        self._rows_told = False
        self.guide: Guide = guide
        self.objective = objective
        self.splits: Mapping[Split, Sequence[Example]] = rows.splits
        self.provenance: Mapping[str, JsonValue] = rows.provenance
        self.parameters: Sequence[Parameter] = tuple(program.parameters)

    def run(self, values: Values, example: Example, context: Context) -> Any:
        """Answer one row, as often as the options say; before the first, keep in the job's record where the rows come from."""
        if not self._rows_told:
            self._rows_told = True
            context.record("rows", dict(self.provenance))
        replies = [self._program.answer(values, example.input, context).as_json() for _ in range(self._repeats)]
        return {"replies": replies}


def build(name: str, subtask: str | None, *, splits: frozenset[Split] = ALL, **told: Any) -> QATask:
    """Build `hf:<name>` or `hf:<name>/<subtask>` from its validated options."""
    options = TaskOptions(**told)
    entry = find_entry(name)
    family = find_family(entry.family)
    program = PROGRAMS[options.program or entry.default_program](entry, family, options)
    if family.sandboxed and program.name != "code":
        raise ConfigError(
            f"`hf:{name}` asks for programs; `program: {program.name}` cannot write one.", hint="leave `program` out"
        )
    if family.dialogue != (program.name == "tools"):
        asks = "dialogues with tools" if family.dialogue else "answers"
        raise ConfigError(
            f"`hf:{name}` asks for {asks}; `program: {program.name}` gives none.", hint="leave `program` out"
        )
    return QATask(
        program=program,
        guide=QAGuide(family, seconds=entry.timeout, judge=options.judge, oracle=options.oracle),
        rows=_rows(name, subtask, options, splits),
        objective=entry.objective.strip(),
        repeats=options.num_eval_repeats,
    )


def build_with_tokens(name: str, subtask: str | None, *, splits: frozenset[Split] = ALL, **told: Any) -> QATask:
    """Build a task of two objectives, accuracy and tokens."""
    options = with_other_names(TokenOptions(**told))
    entry = find_entry(name)
    family = find_family(entry.family)
    program = PROGRAMS[options.program or "instructions"](entry, family, options)
    weight = options.token_weight if options.objective_mode == "weighted" else 0.0
    aim = "as many right answers as possible with as few tokens of prompt and reply as possible"
    return QATask(
        program=program,
        guide=TokenGuide(family, seconds=entry.timeout, weight=weight, judge=options.judge),
        rows=_rows(name, subtask, options, splits),
        objective=f"Improve the instructions so that the model gives {aim}.",
        repeats=options.num_eval_repeats,
    )


def sizes_of(name: str, _subtask: str | None, told: Mapping[str, Any]) -> TaskSizes:
    """Return how many parameters and rows a task has under these options, at most: the rows are not opened."""
    return _sizes(name, TaskOptions(**told), find_entry(name).default_program)


def sizes_with_tokens(name: str, _subtask: str | None, told: Mapping[str, Any]) -> TaskSizes:
    """Return the same for a task of two objectives."""
    return _sizes(name, with_other_names(TokenOptions(**told)), "instructions")


def with_other_names(options: TokenOptions) -> TokenOptions:
    """Return options in which the other names of sizes and seed stand under their own.

    Raises:
        ConfigError: when a model is named here, where it would not be metered.
    """
    if options.model is not None:
        raise ConfigError("`eval_kwargs.model` is not taken: models are named under `llm`.", hint="-o llm.model=<name>")
    told = {"num_train": options.n_train, "num_validate": options.n_val, "split_seed": options.seed}
    return options.model_copy(update={name: value for name, value in told.items() if value is not None})


def _rows(name: str, subtask: str | None, options: TaskOptions, splits: frozenset[Split]) -> Opened:
    entry = find_entry(name)
    sizes = _wanted(entry, options)
    return open_rows(entry, subtask=subtask, sizes=sizes, seed=options.split_seed, settings=settings(), held=splits)


def _wanted(entry: Entry, options: TaskOptions) -> dict[Split, int]:
    return {
        "train": options.num_train or entry.num_train,
        "validation": entry.num_validate if options.num_validate is None else options.num_validate,
        "test": entry.num_test if options.num_test is None else options.num_test,
    }


def _sizes(name: str, options: TaskOptions, default: ProgramName) -> TaskSizes:
    entry = find_entry(name)
    program = PROGRAMS[options.program or default](entry, find_family(entry.family), options)
    return TaskSizes(parameters=len(program.parameters), **_wanted(entry, options))
