"""Parts that one file holds: what is taken, under which name, and what is refused in words."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tracebench_core.errors import MissingRequirementError, PluginError, UsageError
from tracebench_core.ids import suite_of
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.plugins.files import file_part
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import TaskSpec, TrainerSpec
from tracebench_engine.measure.building import open_task

TASK = '''
def task():
    """Do a thing.

    At length.
    """
    return 1
'''
TRAINER = """
from __future__ import annotations
from pydantic import BaseModel
from tracebench_core.specs import TaskSpec, TrainerSpec
from tracebench_engine.measure.building import open_task
class Settings(BaseModel):
    steps: int = 3
class Mine:
    def __init__(self, settings: Settings) -> None: ...
def anything(**settings): ...
SPEC = TrainerSpec(name="whatever", loader=f"{__name__}:Mine", uses_model=False)
FAR = TrainerSpec(name="whatever", loader="my:Mine")
NUMBER = 3
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PluginHost:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_text(TRAINER + TASK)
    return PluginHost({})


@pytest.mark.parametrize(
    ("written", "path"),
    [("my.py:t", "./my.py"), ("./a/../my.py:t", "./my.py"), ("../my.py:t", "../my.py"), ("/x/my.py:t", "/x/my.py")],
)
def test_a_path_has_one_spelling(written: str, path: str) -> None:
    part = file_part(written)

    assert part is not None
    assert (part.path, part.name, part.digest) == (path, "t", None)


@pytest.mark.parametrize("written", ["suite:task", "my.py", "my.py:", "my.txt:t", "my.py:a.b", "llm4ad:x/my.pyc"])
def test_other_ids_are_left_alone(written: str) -> None:
    assert file_part(written) is None


def test_a_function_is_a_task_whose_id_holds_the_content(host: PluginHost, tmp_path: Path) -> None:
    (task_id,) = resolve_task_ids(host, "my.py:task")
    spec = host.task(task_id)

    assert (spec.name, spec.title) == ("task", "Do a thing.")
    assert load_ref(spec.loader, owner=task_id)() == 1
    assert suite_of(task_id) == task_id.removeprefix("./").removesuffix(":task")
    (tmp_path / "my.py").write_text(TASK + "# changed")
    assert resolve_task_ids(PluginHost({}), "my.py:task") != [task_id]


def test_a_class_is_a_trainer_with_the_settings_that_annotate_it(host: PluginHost) -> None:
    spec = host.component("trainer", "my.py:Mine")

    assert isinstance(spec, TrainerSpec)
    assert spec.settings is not None
    assert load_ref(spec.settings, owner="x").__name__ == "Settings"
    assert spec.source is not None
    assert spec.name == f"./my.py@{spec.source.file_hash[:12]}:Mine"
    assert host.component("trainer", spec.name) is spec
    assert host.component("trainer", "my.py:anything").settings is None


def test_a_spec_of_the_file_says_more(host: PluginHost) -> None:
    spec = host.component("trainer", "my.py:SPEC")

    assert isinstance(spec, TrainerSpec)
    assert not spec.uses_model
    assert spec.name.endswith(":SPEC")


def test_another_process_that_has_the_module_needs_no_file(host: PluginHost, tmp_path: Path) -> None:
    (task_id,) = resolve_task_ids(host, "my.py:task")
    (tmp_path / "my.py").unlink()

    other = PluginHost({})
    assert other.load(task_id.partition(":")[0]).status == "loaded"
    assert isinstance(other.task(task_id), TaskSpec)


def test_a_changed_file_is_refused_under_its_old_name(host: PluginHost, tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(TASK)
    with pytest.raises(PluginError, match="has changed: the run was planned with its content 000000000000"):
        host.task("./my.py@000000000000:task")


@pytest.mark.parametrize(
    ("written", "error", "words"),
    [
        ("mx.py:task", UsageError, r"`./mx.py` cannot be read: No such file.*Did you mean `my.py`"),
        ("my.py:tusk", UsageError, "holds no `tusk`. Did you mean `task`"),
        ("my.py:NUMBER", PluginError, "is a `int`; it must be a `TaskSpec`, a class, or a function"),
        ("bad.py:task", PluginError, r"cannot be imported: ZeroDivisionError: division by zero \(line 2\)"),
        ("syntax.py:task", PluginError, "cannot be imported: SyntaxError"),
        ("exits.py:task", PluginError, "cannot be imported: SystemExit"),
        ("needs.py:task", MissingRequirementError, "imports `no_such_module`, which is not installed"),
        ("options.py:task", PluginError, "needs the argument `size`"),
        (".:task", UsageError, "No plugin provides"),
    ],
)
def test_what_cannot_be_taken_is_told_in_words(
    host: PluginHost, tmp_path: Path, written: str, error: type[Exception], words: str
) -> None:
    for name, text in {
        "bad": "\n1 / 0",
        "syntax": "def",
        "exits": "import sys; sys.exit(3)",
        "needs": "import no_such_module",
        "options": "def task(size): ...",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    with pytest.raises(error, match=words):
        host.task(resolve_task_ids(host, written)[0])


def test_what_does_not_say_its_arguments_is_no_part(host: PluginHost, tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text("import operator\ntask = dict\nbest = max\nfirst = operator.itemgetter(1)\n")
    for name in ("task", "best", "first"):
        words = f"^`./c.py:{name}` does not say which arguments it takes: write a function that calls it\\.$"
        with pytest.raises(PluginError, match=words):
            host.task(f"./c.py:{name}")
        with pytest.raises(PluginError, match=words):
            host.component("trainer", f"./c.py:{name}")


def test_a_spec_that_names_a_module_of_the_file_is_told_how_to_write_it(host: PluginHost) -> None:
    with pytest.raises(PluginError, match="no module of that name") as caught:
        host.component("trainer", "my.py:FAR")
    assert '{__name__}:Mine"' in caught.value.hint


def test_a_component_of_another_kind_is_refused(host: PluginHost) -> None:
    with pytest.raises(PluginError, match="is a `TrainerSpec`, not a `GuideSpec`"):
        host.component("guide", "my.py:SPEC")
    with pytest.raises(UsageError, match="cannot be taken from a file"):
        host.component("environment", "my.py:SPEC")


def test_what_only_a_type_checker_sees_matters_where_settings_are_meant(host: PluginHost, tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from tracebench_core.contracts import Problem, Task\n    from elsewhere import Settings\n"
        "def exact(task: Task): ...\ndef proposer(problem: Problem, **kwargs): ...\ndef mine(settings: Settings): ...\n"
    )

    assert host.component("guide", "typed.py:exact").settings is None
    assert host.component("optimizer", "typed.py:proposer").settings is None
    with pytest.raises(PluginError, match=r"`mine` takes `Settings`, and its module `.*` holds no `Settings`"):
        host.component("trainer", "typed.py:mine")


BASE = """
from __future__ import annotations
from pydantic import BaseModel
class Steps(BaseModel):
    steps: int = 7
class Base:
    def __init__(self, settings: Steps) -> None: ...
class New:
    def __new__(cls, settings: Steps): ...
"""
HEIR = """
from __future__ import annotations
import dataclasses
import {base} as far
class Heir(far.Base): ...
class NewHeir(far.New): ...
class Own(far.Base):
    def __init__(self, settings: far.Steps) -> None: ...
class Quoted(far.Base):
    def __init__(self, settings: "far.Steps") -> None: ...
@dataclasses.dataclass
class Data:
    settings: far.Steps
"""


@pytest.mark.parametrize("name", ["Heir", "NewHeir", "Own", "Quoted", "Data"])
def test_settings_are_looked_up_where_what_they_annotate_was_written(
    name: str, host: PluginHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "base_of_heirs.py").write_text(BASE)
    (tmp_path / "heir.py").write_text(HEIR.format(base="base_of_heirs"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "base_of_heirs", raising=False)

    assert host.component("trainer", f"heir.py:{name}").settings == "base_of_heirs:Steps"


def test_a_large_file_is_not_read(host: PluginHost) -> None:
    Path("zero.py").symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="larger than"):
        host.task("./zero.py@000000000000:task")


def test_a_trainer_with_an_argument_laid_down_is_one_with_its_own_settings_and_words(
    host: PluginHost, tmp_path: Path
) -> None:
    more = 'from functools import partial\nclass Other(Mine):\n    """Go far."""\nlong = partial(partial(Other), k=3)\n'
    (tmp_path / "my.py").write_text(TRAINER.replace("settings: Settings)", "settings: Settings, k: int = 1)") + more)
    spec = host.component("trainer", "./my.py:long")
    assert spec.settings is not None
    assert load_ref(spec.settings, owner="t").__name__ == "Settings"
    assert spec.title == "Go far."


def test_a_file_whose_import_was_interrupted_is_imported_again(host: PluginHost, tmp_path: Path) -> None:
    """As in a notebook, whose process goes on after an interrupt."""
    once = "from pathlib import Path\nif not Path('seen').exists():\n    Path('seen').touch()\n    raise KeyboardInterrupt\n"
    (tmp_path / "my.py").write_text(once + TASK)
    with pytest.raises(KeyboardInterrupt):
        host.task("./my.py:task")
    assert host.task("./my.py:task").title == "Do a thing."


def test_a_file_in_a_folder_that_cannot_be_is_told_as_any_other_that_is_not_there(host: PluginHost) -> None:
    with pytest.raises(UsageError, match="cannot be read: File name too long"):
        host.task(f"./{'a' * 300}/my.py:task")


def test_a_loader_that_leaves_is_told_and_ends_no_command(host: PluginHost, tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text("def task():\n    raise SystemExit(5)\n")
    with pytest.raises(PluginError, match=r"my\.py:task` cannot be built: SystemExit: 5"):
        open_task(host, "./my.py:task", eval_kwargs={})
