"""How well a broken config is told: `python benchmarks/broken_configs.py [--all]`.

Every field gets a misspelt name, a value of a wrong type and one out of range; then come names of tasks, trainers, parts and settings that
nobody offers, and files that are no config. Counted is how many messages name the file, the line, the field and the nearest name that is
known, against the number of those that could. Each distinct hint is typed, and has to do what it says. `--all` prints every message.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import yaml
from pydantic import BaseModel

from tracebench_core.errors import TraceBenchError
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import Budget, InitialFrom, RunConfig
from tracebench_core.specs.models import ListedModel, LLMConfig, LLMVariant, RoleConfig
from tracebench_core.specs.named import PluginsConfig, Price
from tracebench_core.specs.run import (
    RetriesConfig,
    SandboxConfig,
    SweepRange,
    TaskEntry,
    TrainerEntry,
)
from tracebench_engine import api
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.config import load_config, placing
from tracebench_engine.config.problems import dotted

sys.path.append(str(Path(__file__).parent.parent))
from benchmarks.first_typed import FIRST_TYPED, KEY, PASSWORD, WITH_A_KEY, WITH_A_PASSWORD

Loc = tuple[str | int, ...]
NAME = "broken.yaml"
ASKED = ("file", "line", "field", "nearest", "says")
SOUND: dict[str, Any] = {
    "runs_dir": "runs",
    "tasks": [{"id": "internal:numeric_param"}],
    "trainers": [{"id": "RandomSearch"}],
    "seeds": [1],
}
PLACES: tuple[tuple[Loc, type[BaseModel]], ...] = (
    ((), RunConfig),
    (("tasks", 0), TaskEntry),
    (("tasks", 0, "initial"), InitialFrom),
    (("trainers", 0), TrainerEntry),
    (("trainers", 0, "sweep", "num_steps"), SweepRange),
    (("llm",), LLMConfig),
    (("llm", "roles", "judge"), RoleConfig),
    (("llm", "roles", "judge", "models", "small"), ListedModel),
    (("llm", "prices", "small"), Price),
    (("llm_variants", 0), LLMVariant),
    (("plugins",), PluginsConfig),
    (("sandbox",), SandboxConfig),
    (("budget",), Budget),
    (("run_budget",), Budget),
    (("retries",), RetriesConfig),
)
REQUIRED = {
    InitialFrom: {"run": "runs/old"},
    SweepRange: {"low": 1, "high": 9, "count": 3},
    Price: {"prompt": 1, "completion": 1},
    LLMVariant: {"model": "m"},
}
"""What a place must hold beside the mistake."""


class Broken(NamedTuple):
    """A config with one mistake, and what a message about it has to name."""

    name: str
    text: str
    line: int | None = None
    field: str | None = None
    nearest: str | None = None
    says: str | None = None
    """The line that works, or what the slip is."""
    hidden: str | None = None
    """What must not be repeated."""


@dataclass
class Told:
    """What was said of a broken config."""

    case: Broken
    message: str
    hints: tuple[str, ...]

    @property
    def file(self) -> bool:
        """The file is named."""
        return f"`{NAME}`" in self.message or NAME in self.message

    @property
    def line(self) -> bool:
        """The line is named, where there is one."""
        return self.case.line is None or f"`{NAME}`, line {self.case.line}: " in self.message

    @property
    def field(self) -> bool:
        """The field is named, where there is one."""
        return self.case.field is None or f"`{self.case.field}" in self.message

    @property
    def nearest(self) -> bool:
        """The nearest name that is known is named, where there is one."""
        return self.case.nearest is None or f"Did you mean `{self.case.nearest}`?" in self.message

    @property
    def says(self) -> bool:
        """The line that works is shown, and what is secret is not."""
        told = "\n".join((self.message, *self.hints))
        return (self.case.says or "") in self.message and (
            self.case.hidden is None or self.case.hidden.casefold() not in told.casefold()
        )


def cases() -> Iterator[Broken]:
    """Yield every broken config."""
    for place, model in PLACES:
        for field, info in model.model_fields.items():
            yield _misspelt(place, model, field)
            kind = _plain(info.annotation)
            if (wrong := _wrong(kind)) is not None:
                near = get_args(kind)[0] if get_origin(kind) is Literal else None
                yield _with(place, model, field, wrong, name="type", nearest=near)
            if field != "max_workers" and (beyond := _beyond(info.metadata)) is not None:
                yield _with(place, model, field, beyond, name="range")
    yield from _unknown_names()
    for name, text, line, field in WRITTEN:
        yield Broken(name, text, line, field)
    for name, text, line, field, says in FIRST_TYPED:
        yield Broken(name, text, line, field, says=says)
    for secret, typed_with in ((KEY, WITH_A_KEY), (PASSWORD, WITH_A_PASSWORD)):
        for name, text, line, field, says in typed_with:
            yield Broken(name, text, line, field, says=says, hidden=secret)


def _misspelt(place: Loc, model: type[BaseModel], field: str) -> Broken:
    middle = len(field) // 2
    typo = field[:middle] + field[middle] + field[middle:]
    return _with(place, model, typo, 1, name="name", nearest=field)


def _with(
    place: Loc, model: type[BaseModel], field: str, value: Any, *, name: str, nearest: str | None = None
) -> Broken:
    """Return the sound config with a value at a place."""
    data: Any = {
        key: [dict(item) for item in held] if key in {"tasks", "trainers"} else held for key, held in SOUND.items()
    }
    at = data
    for step, following in zip(place, (*place, "")[1:], strict=True):
        at = at.setdefault(step, [{}] if following == 0 else {}) if isinstance(at, dict) else at[int(step)]
    at |= {key: held for key, held in REQUIRED.get(model, {}).items() if key != field}
    at.pop(field, None)
    at[field] = value
    loc = (*place, field)
    text = yaml.safe_dump(data, sort_keys=False)
    return Broken(f"{name} {dotted(loc)}", text, _line_of(text, loc), dotted(loc), nearest)


def _line_of(text: str, loc: Loc) -> int:
    node = yaml.compose(text)
    line = 0
    for step in loc:
        if isinstance(node, yaml.MappingNode):
            key, node = next((k, v) for k, v in node.value if k.value == step)
            line = key.start_mark.line
        elif isinstance(node, yaml.SequenceNode):
            node = node.value[int(step)]
            line = node.start_mark.line
    return line + 1


def _plain(annotation: Any) -> Any:
    if get_origin(annotation) in {Union, UnionType}:
        return next(kind for kind in get_args(annotation) if kind is not type(None))
    return annotation


def _wrong(kind: Any) -> Any:
    """Return a value that a field of this type cannot hold."""
    if get_origin(kind) is Literal:
        choice = str(get_args(kind)[0])
        return choice[:-1] + choice[-2] + choice[-1]
    if kind in {str, LLMConfig}:  # text is the name of a model
        return [1]
    if kind in {int, float, bool} or get_origin(kind) is tuple:
        return "many"
    return "text" if isinstance(kind, type) or get_origin(kind) is dict else None


def _beyond(metadata: list[Any]) -> Any:
    for bound in metadata:
        if (low := getattr(bound, "ge", getattr(bound, "gt", None))) is not None:
            return low - 1
    return None


def _unknown_names() -> Iterator[Broken]:
    """Yield configs that name what nobody offers: told once the config is compared with what is installed."""
    named = (
        ("tasks", "- internal:numeric_parm", "tasks[0]", "internal:numeric_param"),
        ("tasks", "- internal:multi_prm", "tasks[0]", "internal:multi_param"),
        ("tasks", "- numeric_parma", "tasks[0]", "numeric_param"),
        ("tasks", "- intrnal:numeric_param", "tasks[0]", "internal"),
        ("tasks", "- id: trace_exampls:greeting_stub", "tasks[0]", "trace_examples"),
        ("tasks", "- no_such_thing_at_all", "tasks[0]", None),
        ("tasks", "- nobody:nothing", "tasks[0]", None),
        ("tasks", "- ./no_such_file.py:task", "tasks[0]", None),
        ("tasks", "- id: internal:numeric_param\n  eval_kwargs: {noisse: 1}", "tasks[0].eval_kwargs", "noise"),
        ("tasks", "- id: internal:numeric_param\n  eval_kwargs: {noise: loud}", "tasks[0].eval_kwargs", None),
        ("trainers", "- RandomSerch", "trainers[0]", "RandomSearch"),
        ("trainers", "- NoOpp", "trainers[0]", "NoOp"),
        ("trainers", "- Zzyzx", "trainers[0]", None),
        ("trainers", "- ./no_such_file.py:Mine", "trainers[0]", None),
        (
            "trainers",
            "- id: RandomSearch\n  params_variants:\n  - num_step: 3",
            "trainers[0].params_variants",
            "num_steps",
        ),
        ("trainers", "- id: RandomSearch\n  params_variants:\n  - num_steps: 0", "trainers[0].params_variants", None),
        ("trainers", "- id: RandomSearch\n  params_variants:\n  - num_steps: few", "trainers[0].params_variants", None),
        ("trainers", "- id: RandomSearch\n  sweep: {num_step: [1, 2]}", "trainers[0].sweep", "num_steps"),
        ("trainers", "- id: RandomSearch\n  sweep: {num_steps: []}", "trainers[0].sweep", None),
        ("trainers", "- id: SequentialRefine\n  optimizer: Reflectiv", "trainers[0].optimizer", "Reflective"),
        ("trainers", "- id: RandomSearch\n  guide: NoSuchGuide", "trainers[0].guide", None),
        ("trainers", "- id: RandomSearch\n  logger: ConsolLogger", "trainers[0].logger", "ConsoleLogger"),
        ("trainers", "- id: RandomSearch\n  logger: TensorbordLogger", "trainers[0].logger", "TensorboardLogger"),
        ("trainers", "- id: NoOp\n  optimizer_kwargs: {x: 1}", "trainers[0].params_variants", None),
        ("trainers", "- id: RandomSearch\n- RandomSearch", "trainers[1]", None),
        ("executor", "lcal", "executor", "local"),
        ("executor", "slurm-of-mine", "executor", None),
        ("eval_kwargs", "{noisee: 1}", "eval_kwargs.noisee", "noise"),
        ("trainer_kwargs", "{num_stepss: 1}", "trainer_kwargs.num_stepss", "num_steps"),
        ("plugins", "{options: {intrnal: {a: 1}}}", "plugins.options.intrnal", "internal"),
        ("plugins", "{options: {nobody: {a: 1}}}", "plugins.options.nobody", None),
        ("plugins", "{exclude: ['internal:multi_parm']}", "plugins.exclude", "internal:multi_param"),
        ("plugins", "{exclude: [RandomSerch]}", "plugins.exclude", "RandomSearch"),
        ("replay_from", "runs/none\nmode: replay", "replay_from", None),
    )
    for field, value, told, nearest in named:
        text = "".join(f"{key}: {held}\n" for key, held in {**_lines(), field: value}.items() if key != field)
        line = text.count("\n") + 1
        text += f"{field}:\n{value}\n" if value.startswith("- ") else f"{field}: {value}\n"
        below = value.splitlines()
        inner = told.rpartition(".")[2].rpartition("[")[0] or told.rpartition(".")[2]
        at = next((i for i, each in enumerate(below, 1) if inner in each and each.startswith("  ")), 0)
        if value.startswith("- "):
            line += at or (2 if told == "trainers[1]" else 1)
        yield Broken(f"unknown {field}: {below[-1].strip()}", text, line, told, nearest)


def _lines() -> dict[str, str]:
    return {"tasks": "[internal:numeric_param]", "trainers": "[RandomSearch]"}


WRITTEN: tuple[tuple[str, str, int | None, str | None], ...] = (
    ("a tab", "seeds:\n\t- 1\n", 2, None),
    ("two colons", "a: b: c\n", 1, None),
    ("an open list", "tasks: [a\nseeds: [1]\n", 2, None),
    ("an open quote", 'run_id: "x\n', 1, None),
    ("a stray quote", "run_id: 'a'b'\n", 1, None),
    ("indented too far", "seeds: [1]\n  tasks: [a]\n", 2, None),
    ("a list for a config", "- a\n- b\n", 1, None),
    ("text for a config", "run the tests\n", 1, None),
    ("a number for a config", "3\n", 1, None),
    ("two documents", "seeds: [1]\n---\nseeds: [2]\n", 2, None),
    ("a control character", "run_id: a\x07\n", 1, None),
    ("an unknown anchor", "tasks: *none\n", 1, None),
    ("an unknown tag", "tasks: !!python/name:os.system x\n", 1, None),
    ("a key twice", "mode: stub\nmode: real\n", 2, "mode"),
    ("a key twice inside", "llm:\n  model: a\n  model: b\n", 3, "llm.model"),
    ("a setting twice", "eval_kwargs:\n  a: 1\n  a: 2\n", 3, "eval_kwargs.a"),
    ("two names of one field", "max_workers: 1\nn_concurrent: 2\n", 2, "n_concurrent"),
    ("one and many seeds", "seeds: [1]\nseed: 2\n", 2, "seed"),
    ("a seed twice", "seeds: [1, 2, 1]\n", 1, "seeds[2]"),
    ("a task twice", "tasks:\n- a:b\n- a:b\n", 3, "tasks[1]"),
    ("a variant twice", "trainers:\n- id: X\n  params_variants:\n  - {a: 1}\n  - {a: 1}\n", 5, "trainers[0].params_variants[1]"),
    ("a key by value", "llm:\n  api_key: sk-1\n", 2, "llm.api_key"),
    ("a key for a variable", "llm:\n  api_key_env: sk-proj-abcdefghijklmnop\n", 2, "llm.api_key_env"),
    ("a key far down", "trainers:\n- id: X\n  optimizer_kwargs: {api-key: sk-1}\n", 3, "trainers[0].optimizer_kwargs.api-key"),
    ("a number for a key", "eval_kwargs: {1: a}\n", 1, "eval_kwargs"),
    ("not a number", "eval_kwargs: {a: .nan}\n", 1, "eval_kwargs.a"),
    ("infinity", "budget: {usd: .inf}\n", 1, "budget.usd"),
    ("bytes", "eval_kwargs: {a: !!binary aGk=}\n", 1, "eval_kwargs.a"),
    ("a loop", "eval_kwargs: &a {x: *a}\n", 1, "eval_kwargs"),
    ("too deep", "a: " + "[" * 200 + "]" * 200 + "\n", 1, "a"),
    ("an octal", "max_workers: 010\n", 1, "max_workers"),
    ("a clock", "job_timeout: 1:30\n", 1, "job_timeout"),
    ("off for a name", "trainers:\n- id: X\n  logger: off\n", 3, "trainers[0].logger"),
    ("a number for a name", "run_id: 20261121\n", 1, "run_id"),
    ("true for a number", "max_workers: true\n", 1, "max_workers"),
    ("a half seed", "seeds: [1.5]\n", 1, "seeds[0]"),
    ("one task, no list", "tasks: a:b\n", 1, "tasks"),
    ("a task that is a number", "tasks: [3]\n", 1, "tasks[0]"),
    ("a task without an id", "tasks:\n- eval_kwargs: {}\n", 2, "tasks[0].id"),
    ("a trainer without an id", "trainers:\n- logger: x\n", 2, "trainers[0].id"),
    ("a price without a part", "llm:\n  prices:\n    m: {prompt: 1}\n", 3, "llm.prices.m.completion"),
    ("a role nobody has", "llm:\n  roles:\n    optimzer: {}\n", 3, "llm.roles.optimzer"),
    ("an address without a scheme", "llm: {base_url: localhost:80}\n", 1, "llm.base_url"),
    ("a path for a run's id", "run_id: ../x\n", 1, "run_id"),
    ("a flag for a run's id", "run_id: '-rf'\n", 1, "run_id"),
    ("an escape in a run's id", 'run_id: "\\eb"\n', 1, "run_id"),
    ("a replay of nothing", "seeds: [1]\nmode: replay\n", 2, "mode"),
    ("a share above one", "fail_on_error: 1.5\n", 1, "fail_on_error"),
    ("settings of tasks in a trainer", "trainers:\n- id: X\n  params: {eval_kwargs: {n: 1}}\n", 3, "trainers[0].params.eval_kwargs"),
    ("a range upside down", "trainers:\n- id: X\n  sweep: {a: {low: 3, high: 1, count: 2}}\n", 3, "trainers[0].sweep.a"),
    ("no task", "seeds: [1]\n", None, None),
)  # fmt: skip


def tell(case: Broken, folder: Path, host: PluginHost) -> Told:
    """Return what is said of a config.

    Raises:
        AssertionError: nothing is.
    """
    path = folder / NAME
    path.write_text(case.text, encoding="utf-8")
    try:
        settings = load_config(path)
        with placing(path):
            [*api.validate(settings, host=host)]
    except TraceBenchError as err:
        hints = tuple(line.strip() for line in err.hint.splitlines() if line.strip())
        return Told(case, str(err).replace(str(path), NAME), tuple(hint.replace(str(folder), ".") for hint in hints))
    return Told(case, f"nothing is said of it:\n{case.text}", ())


def typed(hint: str) -> str:
    """Return the command of a hint, without its remark in parentheses."""
    return hint.partition("   (")[0]


def works(hint: str, folder: Path, text: str) -> str:
    """Type a hint in the folder of the config, with a sound config for FILE; returns what went wrong, or nothing."""
    (folder / NAME).write_text(text, encoding="utf-8")
    (folder / "sound.yaml").write_text(yaml.safe_dump(SOUND), encoding="utf-8")
    here = Path(sys.executable).parent
    command = re.sub(r"\bFILE\b", "sound.yaml", typed(hint))
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": f"{here}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    return "" if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-300:]}"


def main() -> None:
    """Print the counts, what is missing, and what each hint did."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--all", action="store_true", help="print every message")
    options.add_argument("--no-typing", action="store_true", help="leave the hints untyped")
    wanted = options.parse_args()
    host = open_host()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        told = [tell(case, folder, host) for case in cases()]
        for each in told:
            lacking = [name for name in ASKED if not getattr(each, name)]
            if lacking or wanted.all:
                print(f"{each.case.name}: {'lacks ' + ', '.join(lacking) if lacking else 'ok'}\n    {each.message}")
        for name in ASKED:
            asked = [each for each in told if name == "file" or getattr(each.case, name) is not None]
            print(f"{name}: {sum(getattr(each, name) for each in asked)} of {len(asked)}")
        hints = {hint: each.case.text for each in told for hint in each.hints}
        print(
            f"{len({each.case.text for each in told})} configs, {sum(bool(each.hints) for each in told)} with a hint, {len(hints)} hints"
        )
        for hint, text in () if wanted.no_typing else hints.items():
            print(f"  {hint}: {works(hint, folder, text) or 'works'}")


if __name__ == "__main__":
    main()
