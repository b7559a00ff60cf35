"""What workers are told in words, at the edges of what a run may ask: tickets, options, orders, what is lacking, ends that are kept."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.samples import job_spec

from tracebench_core.errors import ConfigError, TraceBenchError, UsageError
from tracebench_core.specs import Budget, ExecutorSetting, Resources, RunConfig
from tracebench_core.specs.order import JobOrder, SharedLimits, Use
from tracebench_workers.fitting import boot, lacking, needs_of
from tracebench_workers.options import Options, Placing, checked, outlook, ready, refuse_unheard
from tracebench_workers.refusing import refuse_what_stays
from tracebench_workers.ticket import Ticket, fingerprint, joining, new_token, serving

DIGITS = "ab" * 32


@pytest.mark.parametrize(
    "text",
    [f"tb1/h:1/{DIGITS}/t", f" tb1/h:65535/{DIGITS}/t\n", f"tb1/[::1]:7400/{DIGITS}/t", f"tb1/a.b:99/{DIGITS}/a-_="],
)
def test_a_ticket_is_read_as_it_was_written(text: str) -> None:
    assert str(Ticket.parse(text)) == text.strip()
    assert DIGITS not in repr(Ticket.parse(text))


@pytest.mark.parametrize(
    "text",
    ["", "tb1", f"tb2/h:1/{DIGITS}/t", f"tb1/h:0/{DIGITS}/t", f"tb1/h:65536/{DIGITS}/t", f"tb1/h:01/{DIGITS}/t", f"tb1/h/{DIGITS}/t",
     f"tb1/:1/{DIGITS}/t", f"tb1/h:1/{DIGITS[1:]}/t", f"tb1/h:1/{DIGITS}a/t", f"tb1/h:1/{DIGITS}/", f"tb1/h:1/{DIGITS}/t/u"],
)  # fmt: skip
def test_what_is_nearly_a_ticket_is_none(text: str) -> None:
    with pytest.raises(
        UsageError, match="This is no ticket of a run: one reads `tb1/HOST:PORT/FINGERPRINT/TOKEN`"
    ) as caught:
        Ticket.parse(text)
    assert caught.value.hint == "trace-bench worker --ticket FILE"


def test_a_certificate_is_of_one_run_and_known_by_its_fingerprint_alone() -> None:
    (one, first), (_, second) = serving(), serving()
    assert first != second
    assert len(first) == len(fingerprint(b"")) == 64
    assert one.minimum_version == joining().minimum_version == ssl.TLSVersion.TLSv1_3
    assert (joining().check_hostname, joining().verify_mode) == (False, ssl.CERT_NONE)
    assert len(new_token()) == 43
    assert new_token() != new_token()


ADDRESS = "`plugins.options.workers.listen`: `{}` is no ADDRESS:PORT, such as 0.0.0.0:7400."


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"listen": ":"}, ADDRESS.format(":")), ({"listen": "h:65536"}, ADDRESS.format("h:65536")), ({"listen": "h"}, ADDRESS.format("h")),
        ({"listen": "a b:1"}, ADDRESS.format("a b:1")), ({"listen": "http://h:1"}, ADDRESS.format("http://h:1")),
        ({"listen": "h:65535", "reach": "h:0001", "lease": 2, "start": 256, "files": "shared"}, ""), ({"lease": 3600, "start": 0}, ""),
        ({"lease": 1.9}, "`plugins.options.workers.lease`: Input should be greater than or equal to 2."),
        ({"lease": 3601}, "`plugins.options.workers.lease`: Input should be less than or equal to 3600."),
        ({"start": 257}, "`plugins.options.workers.start`: Input should be less than or equal to 256."),
        ({"start": -1}, "`plugins.options.workers.start`: Input should be greater than or equal to 0."),
        ({"lisen": "h:1"}, "`plugins.options.workers.lisen`: Extra inputs are not permitted."),
    ],
)  # fmt: skip
def test_options_are_taken_up_to_their_bounds(options: dict[str, Any], said: str) -> None:
    if not said:
        checked("workers", Options, options)
        return
    with pytest.raises(ConfigError) as caught:
        checked("workers", Options, options)
    assert str(caught.value) == said
    assert caught.value.hint == "options of workers: listen, reach, ticket, lease, files, start"


@pytest.mark.parametrize(
    ("options", "most", "number"),
    [({}, 1, 1), ({}, 7, 7), ({"jobs": 3}, 7, 3), ({"jobs": 3}, 6, 2), ({"workers": 5, "jobs": 3}, 7, 5)],
)
def test_as_many_workers_are_placed_as_jobs_at_a_time_take(options: dict[str, Any], most: int, number: int) -> None:
    assert Placing(**options).number(most) == number


def config(**options: Any) -> RunConfig:
    return RunConfig(max_workers=4, plugins={"options": {"workers": options}})  # type: ignore[arg-type]  # as a config has it


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, ["1 of its own on this machine, which may run 4 jobs at a time"]),
        ({"start": 2}, ["2 of its own on this machine, which may run 4 jobs at a time"]),
        ({"listen": "h:1"}, ["workers that join at h:1: trace-bench worker --ticket FILE --jobs N"]),
        (
            {"listen": "h:1", "reach": "r:2", "ticket": "t", "start": 1},
            [
                "1 of its own on this machine, which may run 4 jobs at a time",
                "workers that join at h:1, as r:2: trace-bench worker --ticket t --jobs N",
            ],
        ),
    ],
)
def test_where_jobs_would_run_is_said(options: dict[str, Any], said: list[str]) -> None:
    assert outlook(config(**options), Resources()) == said


def test_an_address_that_cannot_be_had_is_told_with_one_that_can() -> None:
    ready(config(), Resources())
    ready(config(listen="127.0.0.1:0"), Resources())
    with pytest.raises(
        UsageError, match=r"`plugins.options.workers.listen`: this machine cannot listen at `203.0.113.9:7400`"
    ) as caught:
        refuse_unheard(Options(listen="203.0.113.9:7400"))
    assert caught.value.hint == "-o plugins.options.workers.listen=0.0.0.0:7400"
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match="Address already in use") as caught:
            refuse_unheard(Options(listen=f"127.0.0.1:{port}"))
    assert caught.value.hint == "-o plugins.options.workers.listen=127.0.0.1:0"


def order(**changes: Any) -> JobOrder:
    return JobOrder(**{"job": job_spec(task_id="s:t"), "run_dir": "/r", **changes})


@pytest.mark.parametrize(
    ("given", "elsewhere", "said", "hint"),
    [
        ({}, True, "", ""),
        (
            {"environments": "x"},
            False,
            "Task `s:t` or a model of this run lives in an environment",
            "-o executor=local",
        ),
        (
            {"limits": SharedLimits(counter="x")},
            False,
            "`run_budget.evaluations` is counted in a file",
            "budget.evaluations",
        ),
        ({"limits": SharedLimits(evaluations=3)}, True, "", ""),
        (
            {"access": {}, "job": job_spec(budget=Budget(seconds=1))},
            True,
            "`budget.seconds` is kept by the gateway's clock",
            "job_timeout",
        ),
        ({"access": {}, "job": job_spec(budget=Budget(seconds=1))}, False, "", ""),
        ({"job": job_spec(budget=Budget(seconds=1))}, True, "", ""),
        ({"access": {}, "job": job_spec(budget=Budget(usd=1))}, True, "", ""),
    ],
)
def test_what_only_the_runs_own_machine_has_is_refused(
    given: dict[str, Any], elsewhere: bool, said: str, hint: str
) -> None:
    if not said:
        refuse_what_stays(order(**given), is_elsewhere=elsewhere)
        return
    with pytest.raises(TraceBenchError, match=said) as caught:
        refuse_what_stays(order(**given), is_elsewhere=elsewhere)
    assert hint in caught.value.hint


def setting(**changes: Any) -> ExecutorSetting:
    uses = (Use(kind="task", id="internal:numeric_param"), Use(kind="trainer", id="NoOp"))
    return ExecutorSetting(
        **{
            "run_dir": "/r",
            "environ": {},
            "load": ("internal", "workers", "./gone.py@0123456789ab"),
            "uses": uses,
            **changes,
        }
    )


def test_a_run_says_what_it_needs_and_a_worker_what_it_lacks() -> None:
    wanted = setting(load=("internal", "workers"))
    needs = needs_of(wanted)
    assert sorted(needs["plugins"]) == ["internal", "workers"]
    assert needs["files"] == []
    assert [(use["id"], use["is_met"]) for use in needs["uses"]] == [("internal:numeric_param", True), ("NoOp", True)]
    assert needs["boot"] == boot() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert lacking(needs, wanted) == ""
    found = {
        "core": lacking({**needs, "core": "9"}, wanted),
        "python": lacking({**needs, "python": "2.7"}, wanted),
        "plugin": lacking({**needs, "plugins": {"nowhere": "1"}}, wanted),
        "version": lacking({**needs, "plugins": {"internal": "99"}}, wanted),
        "file": lacking({**needs, "files": ["./gone.py@0123456789ab"]}, wanted),
        "task": lacking(
            {**needs, "uses": [{"kind": "task", "id": "internal:nothing", "settings": {}, "is_met": True}]}, wanted
        ),
        "unmet here": lacking(
            {**needs, "uses": [{"kind": "task", "id": "internal:nothing", "settings": {}, "is_met": False}]}, wanted
        ),
    }
    assert found["core"].startswith("the run is of Trace-Bench 9, and this is ")
    assert found["core"].endswith(": install that version here")
    assert found["python"].startswith("the run is of Python 2.7, and this is 3.")
    assert found["python"].endswith(": start the worker with that one")
    assert found["plugin"] == "the run needs the plugin `nowhere` 1, which is not installed here"
    assert (
        found["version"]
        == f"the run needs the plugin `internal` 99, and {needs['plugins']['internal']} is installed here"
    )
    assert found["file"].startswith(
        "`./gone.py@0123456789ab` is not here as the run has it: `./gone.py` cannot be read"
    )
    assert found["file"].endswith(" Start the worker in a folder with the same files")
    assert found["task"].startswith(
        "the task `internal:nothing` is not here: Suite `internal` has no task `internal:nothing`"
    )
    assert found["task"].endswith(". Data of the run's `--root` are named by this worker's own `--root`")
    assert found["unmet here"] == ""
    assert needs_of(setting())["files"] == ["./gone.py@0123456789ab"]
