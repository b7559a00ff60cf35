import hashlib
import json
import platform
import subprocess
import sys

import pytest
import yaml
from tests.unit.store.samples import job_spec

from tracebench_core.errors import RunDirError
from tracebench_core.specs import RunConfig, TaskEntry
from tracebench_runs.journal.index import read_files_index, write_files_index
from tracebench_runs.meta.environment import GitState, installed_packages, read_environment, read_git
from tracebench_runs.meta.manifest import FORMAT_VERSION, read_head, write_manifest
from tracebench_runs.meta.meta import read_config, write_config, write_environment, write_job_meta
from tracebench_runs.meta.planned import iter_jobs
from tracebench_runs.storage.layout import RunLayout


@pytest.fixture
def run(tmp_path):
    return RunLayout(tmp_path / "run").create()


JOBS = [job_spec(job_id=f"{n:012x}", seed=n, eval_kwargs={"text": 'line\n  ]\n"jobs": [\n'}) for n in range(1200)]


@pytest.mark.parametrize("count", [0, 1, 2, 1200])
def test_the_manifest_reads_back(run, count):
    write_manifest(run, {"config_hash": "abc", "versions": {"core": "1"}}, iter(JOBS[:count]))
    assert read_head(run) == {
        "format_version": FORMAT_VERSION,
        "run_id": "run",
        "config_hash": "abc",
        "versions": {"core": "1"},
    }
    assert list(iter_jobs(run)) == JOBS[:count]
    document = json.loads(run.manifest.read_bytes())
    assert len(document["jobs"]) == count


def test_a_manifest_that_was_laid_out_anew_reads_the_same(run):
    write_manifest(run, {}, JOBS[:3])
    for indent in (None, 4):
        run.manifest.write_text(json.dumps(json.loads(run.manifest.read_bytes()), indent=indent))
        assert read_head(run)["run_id"] == "run"
        assert list(iter_jobs(run)) == JOBS[:3]


def test_jobs_are_no_part_of_the_head(run):
    with pytest.raises(ValueError, match="jobs"):
        write_manifest(run, {"jobs": []}, [])


def test_a_job_that_cannot_be_read_is_named(run):
    write_manifest(run, {}, JOBS[:1])
    run.manifest.write_bytes(run.manifest.read_bytes().replace(b'"seed":0', b'"seed":"x"'))
    with pytest.raises(RunDirError, match="holds a job that cannot be read"):
        list(iter_jobs(run))


def test_the_config_snapshot_is_the_resolved_config(run):
    config = RunConfig(tasks=(TaskEntry(id="a:b"),))
    write_config(run, config)
    assert RunConfig.model_validate(yaml.safe_load(run.config_snapshot.read_bytes())) == config


def test_the_config_snapshot_keeps_the_order_of_whoever_wrote_it(run):
    kwargs = {"z": 1, "a": {"y": 2, "b": 3}, "m": 4}
    write_config(run, RunConfig(tasks=(TaskEntry(id="z:z", eval_kwargs=kwargs), TaskEntry(id="a:a"))))
    written = yaml.safe_load(run.config_snapshot.read_bytes())
    assert [*written] == [*RunConfig.model_fields]
    found = read_config(run).tasks[0].eval_kwargs
    assert ([*found], [*found["a"]]) == (["z", "a", "m"], ["y", "b"])
    assert [task["id"] for task in written["tasks"]] == ["z:z", "a:a"]


@pytest.mark.parametrize("seeds", [range(3), range(500), [7, *range(300), 10**15, 7], [0] * 150])
def test_the_config_is_read_as_it_was_written_however_many_seeds_it_has(run, seeds):
    misleading = "seeds:\n" + "- 1\n" * 200
    config = RunConfig(tasks=(TaskEntry(id="a:b", eval_kwargs={"text": misleading}),), seeds=tuple(seeds))
    write_config(run, config)
    assert read_config(run) == config


def test_secrets_are_told_as_set_or_unset_and_never_by_value(run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("MY_LAB_KEY", "also-secret")
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_BASE", "https://user:password@host:8/v1?tokens=3")
    monkeypatch.setenv("UNRELATED", "private")
    write_environment(run, git=GitState(reason="none"), secrets=["MY_LAB_KEY", "LEFT_IN_A_PIPE"])
    text = run.env.read_text()
    for secret in ("sk-very-secret", "also-secret", "password", "private"):
        assert secret not in text
    variables = json.loads(text)["variables"]
    assert (variables["OPENAI_API_KEY"], variables["MY_LAB_KEY"]) == ("set", "set")
    assert variables["LEFT_IN_A_PIPE"] == "set"
    assert (variables["ANTHROPIC_API_KEY"], variables["MISTRAL_API_KEY"]) == ("unset", "unset")
    assert variables["OPENAI_API_BASE"] == "https://host:8/v1?tokens=3"
    assert "UNRELATED" not in variables


def test_the_environment_names_python_and_packages():
    environment = read_environment()
    assert environment["python"]["version"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}")
    assert environment["packages"]["pydantic"].startswith("2.")
    assert environment["cpu"]["count"] >= environment["cpu"]["usable"] >= 1


def test_the_platform_is_told_in_the_words_of_the_standard_library():
    assert read_environment()["platform"]["text"] == platform.platform()


def test_the_package_that_is_imported_is_the_one_named(tmp_path):
    for folder, version in (("first", "1.0"), ("second", "2.0")):
        (tmp_path / folder / f"My_Package-{version}.dist-info").mkdir(parents=True)
    found = installed_packages([str(tmp_path / "none"), str(tmp_path / "first"), str(tmp_path / "second")])
    assert list(found) == [("my-package", "1.0")]


def git(folder, *args):
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@b", *args]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_git_tells_commit_branch_and_changes(tmp_path):
    git(tmp_path, "init", "-b", "trunk")
    assert read_git(tmp_path) == GitState(None, "trunk", False, "no commit yet")
    (tmp_path / "file").write_text("a")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-m", "First")
    commit = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "untracked").touch()
    assert read_git(tmp_path) == GitState(commit, "trunk", False)
    (tmp_path / "file").write_text("b")
    assert read_git(tmp_path) == GitState(commit, "trunk", True)
    git(tmp_path, "checkout", "--detach")
    assert read_git(tmp_path).branch is None


def test_no_repository_and_no_git_are_fine(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    state = read_git(tmp_path)
    assert (state.commit, state.dirty) == (None, None)
    assert "not a git repository" in state.reason
    assert read_git(tmp_path / "missing").reason.startswith("git could not be asked")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_git(tmp_path).reason == "git is not installed"


def test_the_index_lists_every_file_with_its_hash(run):
    (run.jobs / "aa").mkdir()
    (run.jobs / "aa" / "stdout.log").write_bytes(b"hello")
    (run.path / ".x.1-1.tmp").touch()
    run.lock.touch()
    write_files_index(run)
    write_files_index(run)
    (entry,) = read_files_index(run)
    assert (entry.path, entry.size, entry.sha256) == ("jobs/aa/stdout.log", 5, hashlib.sha256(b"hello").hexdigest())


def test_the_index_is_sorted_by_path_whatever_folders_are_called(run):
    (run.jobs / "empty").mkdir(parents=True)
    for name in ("a/b/c", "a/b.c", "a.b", "a-b/x", "a b", "a/b-c/x", "é/x", "z.tmp.y", 'q"\\\n/x'):
        path = run.jobs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (run.jobs / "link").symlink_to("a/b.c")
    (run.jobs / "linked").symlink_to("a")
    (run.path / "lost+found" / "jobs").mkdir(parents=True)
    (run.path / "lost+found" / "jobs" / "x").touch()
    write_files_index(run)

    found = [entry.path for entry in read_files_index(run)]
    assert found == sorted(found)
    here = [p for p in run.jobs.rglob("*") if p.is_file() and not p.is_symlink()]
    assert {*found} == {p.relative_to(run.path).as_posix() for p in here}


def test_an_index_that_cannot_be_read_is_none(run):
    assert read_files_index(run) is None
    run.files_index.write_text('{"files": [{"path": 1}]}')
    assert read_files_index(run) is None


def test_the_jobs_metadata_hold_plan_and_status(run):
    layout = run.job("0123456789ab").fresh()
    write_job_meta(layout, job_spec(seed=5), status="running", extra={"state_files": []})
    meta = json.loads(layout.meta.read_bytes())
    assert (meta["seed"], meta["status"], meta["state_files"]) == (5, "running", [])
