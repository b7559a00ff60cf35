from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tracebench_core.errors import ConfigError, PluginError, UsageError
from tracebench_core.hookspecs import hookimpl
from tracebench_core.options import refuse_unknown_options
from tracebench_core.plugins import PluginHost, discover
from tracebench_core.plugins.discovery import core_version
from tracebench_core.plugins.installing import install_hint
from tracebench_core.specs import Budget, JobResult, JobSpec, TaskVersion

GOOD = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Exclusion, SuiteSpec, TaskSpec, TrainerSpec
GOT = []
@hookimpl
def tracebench_configure(settings): GOT.append(settings)
@hookimpl
def tracebench_suite(): return SuiteSpec(title="Good")
@hookimpl
def tracebench_tasks(): return [TaskSpec(name="t", loader="m:f", title="T"), TaskSpec(name="u", loader="m:f", title="U")]
@hookimpl
def tracebench_trainers(): return [TrainerSpec(name="Climb", loader="m:T")]
@hookimpl
def tracebench_exclusions(): return [Exclusion(id="good:u", reason="too slow")]
"""


def a_job() -> JobSpec:
    return JobSpec(
        job_id="0" * 12,
        task_id="good:t",
        task_version=TaskVersion(),
        plugin_version="x 1",
        trainer_id="T",
        params={},
        settings={},
        optimizer=None,
        optimizer_kwargs={},
        guide=None,
        guide_kwargs={},
        logger=None,
        logger_kwargs={},
        eval_kwargs={},
        seed=1,
        mode="stub",
        models={},
        budget=Budget(),
    )


def a_result() -> JobResult:
    return JobResult(
        job_id="0" * 12,
        task_id="good:t",
        suite="good",
        trainer_id="T",
        seed=1,
        mode="stub",
        status="ok",
        stop_reason="completed",
    )


def test_one_broken_plugin_costs_only_itself(install_plugin: Any) -> None:
    install_plugin("bad", "raise RuntimeError('boom')")
    install_plugin("quits", "raise SystemExit(3)")
    install_plugin("good", GOOD)

    host = PluginHost(discover({"bad", "quits", "good"}))

    assert list(host.catalog().tasks) == ["good:t", "good:u"]
    assert host.records["bad"].error == "RuntimeError: boom"
    assert host.records["quits"].status == "failed"


def test_a_task_loads_its_own_plugin_and_no_other(install_plugin: Any) -> None:
    install_plugin("good", GOOD)
    install_plugin("other", GOOD)
    host = PluginHost(discover({"good", "other"}))

    host.task("good:t")

    assert "fake_good" in sys.modules
    assert "fake_other" not in sys.modules


def test_the_index_finds_a_bare_name_without_loading_other_plugins(install_plugin: Any) -> None:
    install_plugin("good", GOOD, index="Climb = good")
    install_plugin("another", GOOD.replace("Climb", "Crawl"))
    host = PluginHost(discover({"good", "another"}))

    assert host.component("trainer", "Climb").name == "Climb"
    assert "fake_another" not in sys.modules


def test_settings_reach_a_plugin_when_it_loads(install_plugin: Any) -> None:
    install_plugin("good", GOOD)
    host = PluginHost(discover({"good"}), root=Path("/data"), options={"good": {"depth": 3}})

    host.load("good")

    assert [{"root": Path("/data"), "options": {"depth": 3}}] == sys.modules["fake_good"].GOT


def test_options_of_a_plugin_that_takes_none_are_refused(install_plugin: Any) -> None:
    install_plugin(
        "deaf", "from tracebench_core.hookspecs import hookimpl\n@hookimpl\ndef tracebench_tasks(): return []"
    )
    host = PluginHost(discover({"deaf"}), options={"deaf": {"depth": 3}})

    host.load("deaf")

    assert host.records["deaf"].status == "failed"
    assert "`plugins.options.deaf.depth` is not known. The plugin takes no options." in host.records["deaf"].error


def test_an_option_that_there_is_not_is_refused_with_the_nearest_that_there_is() -> None:
    refuse_unknown_options("mine", {"depth": 3, "root": "x"}, ("root", "depth"))
    with pytest.raises(ConfigError, match=r"`plugins\.options\.mine\.rot` is not known\. Did you mean `root`\?"):
        refuse_unknown_options("mine", {"root": "x", "rot": "x"}, ("root", "depth"))
    with pytest.raises(ConfigError, match="It takes `root`, `depth`"):
        refuse_unknown_options("mine", {"quite": "another"}, ("root", "depth"))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "from tracebench_core.hookspecs import hookimpl\n@hookimpl\ndef tracebench_task(): ...",
            "Did you mean `tracebench_tasks`",
        ),
        ("from tracebench_core.hookspecs import hookimpl\n@hookimpl\ndef tracebench_event(jib): ...", "jib"),
        (
            "from tracebench_core.hookspecs import hookimpl\n@hookimpl\ndef tracebench_tasks(): raise OSError('no disk')",
            "no disk",
        ),
        (
            "from tracebench_core.hookspecs import hookimpl\n@hookimpl\ndef tracebench_trainers(): return 3",
            "its `tracebench_trainers` returned a `int`, not a list of `TrainerSpec`",
        ),
        (GOOD.replace("[TaskSpec(", "['x', TaskSpec("), "its `tracebench_tasks` returned a `str`"),
        (GOOD.replace('name="u"', 'name="t"'), "twice"),
    ],
)
def test_a_broken_contract_is_told_by_name(install_plugin: Any, source: str, words: str) -> None:
    install_plugin("odd", source)
    host = PluginHost(discover({"odd"}))

    host.catalog()

    assert host.records["odd"].status == "failed"
    assert words in host.records["odd"].error
    assert host.catalog().tasks == {}


def test_strict_mode_raises_and_names_the_distribution(install_plugin: Any) -> None:
    install_plugin("bad", "raise RuntimeError('boom')")
    with pytest.raises(PluginError, match=r"fake-bad 1\.0.*boom"):
        PluginHost(discover({"bad"}), strict=True).catalog()


def test_version_skew_is_told_before_import_and_once(install_plugin: Any, caplog: pytest.LogCaptureFixture) -> None:
    install_plugin("old", "raise AssertionError('must not be imported')", requires="tracebench-core<0.1")
    host = PluginHost(discover({"old"}))

    host.catalog()

    assert host.records["old"].status == "incompatible"
    assert "<0.1" in host.records["old"].error
    host.catalog()
    assert [r.getMessage() for r in caplog.records] == [
        f"plugin old (fake-old 1.0) is left out: it needs tracebench-core<0.1, {core_version()} is installed"
    ]


OLDER = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import GuideSpec, TaskSpec, TrainerSpec
@hookimpl
def {hook}(): return [{made}]
"""


@pytest.mark.parametrize(
    ("hook", "made", "words"),
    [
        (
            "tracebench_tasks",
            "TaskSpec(name='t', loader='m:f', title='T', failure_score=0.0, titel='x')",
            "`TaskSpec.failure_score` is `worst_score` since 0.2. `TaskSpec` has no field `titel`. Did you mean `title`?",
        ),
        (
            "tracebench_trainers",
            "TrainerSpec(name='T', loader='m:T', aliases={'steps': 'num_steps'})",
            "`TrainerSpec.aliases` is `setting_aliases` since 0.2.",
        ),
        (
            "tracebench_guides",
            "GuideSpec(name='G', loader='m:G', aliases={})",
            "`GuideSpec.aliases` is `setting_aliases` since 0.2.",
        ),
        (
            "tracebench_trainers",
            "TrainerSpec(name='T', loader='m:T', aliases=3)",
            "`TrainerSpec.aliases`: Input should be a valid tuple.",
        ),
        ("tracebench_tasks", "1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_plugin_of_an_earlier_core_is_refused_in_one_line_with_the_names_of_today(
    install_plugin: Any, caplog: pytest.LogCaptureFixture, hook: str, made: str, words: str
) -> None:
    install_plugin("older", OLDER.format(hook=hook, made=made))
    host = PluginHost(discover({"older"}))

    host.catalog()
    host.catalog()
    host.load("older")

    assert host.records["older"].error == words
    assert [r.getMessage() for r in caplog.records] == [f"plugin older (fake-older 1.0) failed to load: {words}"]


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ("tracebench-core<{next},>={minor}", True),
        ("tracebench-core<{minor}.0", False),
        ("Tracebench_Core >={minor}.0, <1.0", True),
        ("tracebench-core>={next}", False),
        ("tracebench-core~={minor}.0", True),
        ("tracebench-core!={version}", False),
        ("tracebench-core=={minor}.*", True),
        ("tracebench-core", True),
        ("tracebench-core-extra>=9", True),
        ("tracebench-core[opto]>=9; python_version>='3'", False),
        ("tracebench-core >>> nonsense", True),
    ],
)
def test_every_way_to_want_a_version_of_the_core_is_understood(install_plugin: Any, wanted: str, fits: bool) -> None:
    version = core_version()
    major, minor = version.split(".")[:2]
    requires = wanted.format(version=version, minor=f"{major}.{minor}", next=f"{major}.{int(minor) + 1}")
    install_plugin("picky", "", requires=requires)

    assert discover({"picky"})["picky"].status == ("found" if fits else "incompatible")


def test_two_plugins_that_claim_one_trainer_are_both_named(install_plugin: Any) -> None:
    install_plugin("good", GOOD)
    install_plugin("rival", GOOD)
    host = PluginHost(discover({"good", "rival"}))

    host.catalog()

    assert "`good` and `rival` both offer trainer `Climb`" in host.records["rival"].error


def test_an_excluded_task_keeps_its_reason(install_plugin: Any) -> None:
    install_plugin("good", GOOD)
    host = PluginHost(discover({"good"}), exclude=("Climb",))

    assert list(host.suite_tasks("good")) == ["good:t"]
    with pytest.raises(UsageError, match="too slow"):
        host.task("good:u")
    with pytest.raises(UsageError, match="excluded by the config"):
        host.component("trainer", "Climb")


def test_a_plugin_that_fails_excludes_nothing(install_plugin: Any) -> None:
    source = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Exclusion
@hookimpl
def tracebench_exclusions(): return [Exclusion(id="good:t", reason="mine")]
@hookimpl
def tracebench_register(registry):
    registry.add(Exclusion(id="Climb", reason="mine"))
    {does}
"""
    install_plugin("good", GOOD)
    install_plugin("first", source.format(does="raise KeyError"))
    install_plugin("second", source.format(does="registry.add(1)"))
    install_plugin("third", source.format(does="").replace("good:t", "good:other"))
    catalog = PluginHost(discover({"good", "first", "second"}), exclude=("good:x",)).catalog()
    assert catalog.excluded == {"good:u": "too slow", "good:x": "excluded by the config"}
    assert "Climb" in catalog.trainers
    catalog = PluginHost(discover({"good", "third"})).catalog()
    assert catalog.excluded == {"good:u": "too slow", "good:other": "mine", "Climb": "mine"}


def test_an_unknown_name_gets_the_nearest(install_plugin: Any) -> None:
    install_plugin("good", GOOD)
    host = PluginHost(discover({"good"}))

    with pytest.raises(UsageError, match="Did you mean `Climb`"):
        host.component("trainer", "Clim")
    with pytest.raises(UsageError, match="Did you mean `good:t`"):
        host.task("good:tt")
    with pytest.raises(UsageError, match="Did you mean `good`"):
        host.task("goood:t")


def test_a_wrapper_sees_the_job_and_may_change_its_result() -> None:
    class Wrapper:
        seen: ClassVar[list[Path]] = []

        @hookimpl(wrapper=True)
        def tracebench_run_job(self, job_dir: Path) -> Any:
            self.seen.append(job_dir)
            result = yield
            return result.model_copy(update={"feedback": "wrapped"})

    host = PluginHost({})
    host._pm.register(Wrapper())

    result = host.run_job(a_job(), job_dir=Path("/j"), execute=lambda _: a_result())

    assert result.feedback == "wrapped"
    assert Wrapper.seen == [Path("/j")]


@pytest.mark.parametrize("raised", [ValueError, SystemExit])
def test_an_observer_that_raises_is_left_out_and_hurts_nobody(
    caplog: pytest.LogCaptureFixture, raised: type[BaseException]
) -> None:
    class Bad:
        @hookimpl
        def tracebench_run_started(self, run_dir: Path) -> None:
            raise raised("no")

    class Good:
        seen: ClassVar[list[Path]] = []

        @hookimpl
        def tracebench_run_started(self, run_dir: Path) -> None:
            self.seen.append(run_dir)

    host = PluginHost({})
    host._pm.register(Good())
    host._pm.register(Bad(), name="bad")

    host.observe("tracebench_run_started", run_dir=Path("/r"))
    host.observe("tracebench_run_started", run_dir=Path("/s"))

    assert Good.seen == [Path("/r"), Path("/s")]
    assert caplog.text.count("plugin bad failed") == 1


def test_of_two_distributions_with_one_plugin_the_preferred_one_is_taken(install_plugin: Any, tmp_path: Path) -> None:
    install_plugin("good", GOOD)
    info = tmp_path / "site" / "fork-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fork\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[tracebench]\ngood = fake_good\n")

    undecided = discover({"good"})["good"]
    chosen = {name: discover({"good"}, preferred=[name])["good"] for name in ("fork", "fake-good")}

    assert undecided.status == "failed"
    assert "`fake-good`" in undecided.error
    assert "`fork`" in undecided.error
    assert "export TRACEBENCH_PREFER=" in undecided.error
    assert {name: (record.distribution, record.status) for name, record in chosen.items()} == {
        "fork": ("fork", "found"),
        "fake-good": ("fake-good", "found"),
    }


def test_a_plugin_that_is_left_out_is_left_out_whoever_provides_it(install_plugin: Any, tmp_path: Path) -> None:
    install_plugin("good", GOOD)
    info = tmp_path / "site" / "fork-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fork\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[tracebench]\ngood = fake_good\n")

    for enabled, status in ((set(), "disabled"), ({"good"}, "failed"), (None, "failed")):
        assert discover(enabled)["good"].status == status
        assert discover(enabled, preferred=["fork"])["good"].status == ("found" if status == "failed" else status)


FINDS = (
    GOOD
    + """
import sys
@hookimpl
def tracebench_find_trainers(name):
    print("looking for trainers")
    {does}
@hookimpl
def tracebench_find_task(name):
    print("looking for a task")
    return TaskSpec(name=name, loader="m:f", title="Found") if name == "hidden" else None
"""
)


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ('return [TrainerSpec(name="Twice", loader="m:T")] * 2', "offers trainer `Twice` twice"),
        ("return [1]", "its `tracebench_find_trainers` returned a `int`, not a list of `TrainerSpec`"),
        ("sys.exit(3)", "failed to look for trainers: SystemExit: 3"),
        ("1 / 0", "failed to look for trainers: ZeroDivisionError: division by zero"),
    ],
)
def test_a_plugin_that_fails_to_look_for_trainers_costs_only_what_it_would_have_found(
    install_plugin: Any, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], does: str, words: str
) -> None:
    install_plugin("finds", FINDS.replace("{does}", does).replace("good:u", "finds:u"))
    install_plugin("good", GOOD.replace("Climb", "Walk"))
    host = PluginHost(discover({"finds", "good"}))

    assert {"Climb", "Walk"} <= {*host.find_trainers().trainers}
    assert words in caplog.text
    assert capsys.readouterr() == ("", "looking for trainers\n")


def test_what_a_plugin_prints_while_it_looks_for_a_task_is_no_data(
    install_plugin: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    install_plugin("finds", FINDS.replace("{does}", "return []"))
    host = PluginHost(discover({"finds"}))
    assert host.task("finds:hidden").title == "Found"
    with pytest.raises(UsageError, match="has no task `finds:other`"):
        host.task("finds:other")
    assert capsys.readouterr() == ("", "looking for a task\n" * 2)


def test_a_file_without_the_name_of_a_part_is_told_what_it_lacks() -> None:
    assert install_hint("./my_task.py") == "name a part of the file, as in ./my_task.py:task"


def test_plugins_are_looked_for_again_where_one_was_added_or_removed(install_plugin: Any, tmp_path: Path) -> None:
    install_plugin("good", GOOD)
    first = discover()["good"]
    time.sleep(0.05)  # a folder's time of change is as fine as the kernel's ticks
    install_plugin("late", GOOD)
    both = discover()
    time.sleep(0.05)
    shutil.rmtree(tmp_path / "site" / "fake_good-1.0.dist-info")
    left = discover()

    assert ("late" in both, "late" in left, "good" in left) == (True, True, False)
    assert both["good"] == first
    assert both["good"] is not first, "what becomes of a plugin is one host's"
