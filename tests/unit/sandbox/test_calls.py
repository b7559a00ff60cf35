"""What callers may rely on: values, order, sessions, commands, words."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tracebench_core import contracts
from tracebench_core.errors import SandboxUnavailableError, TraceBenchError
from tracebench_core.specs import Limits, Outcome
from tracebench_sandbox import LocalSandbox, open_sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with open_sandbox(preload=["numpy"]) as opened:
        yield opened


def test_the_contract_is_met(sandbox: LocalSandbox) -> None:
    checked: contracts.Sandbox = sandbox
    assert checked.call("def f(a, b):\n    return a - b", "f", 5, 3).value == 2


def test_the_prelude_runs_first_and_is_no_frame_of_the_candidate(sandbox: LocalSandbox) -> None:
    outcome = sandbox.call("def f(x):\n    return np.square(x)", "f", np.arange(3), prelude="import numpy as np")
    assert outcome.value.tolist() == [0, 1, 4]


def test_an_error_shows_the_candidates_own_frames_and_lines(sandbox: LocalSandbox) -> None:
    code = "import numpy\ndef g(x):\n    return numpy.linalg.inv(x)\ndef f(x):\n    print('before')\n    return g(x)\n"
    outcome = sandbox.call(code, "f", np.zeros((2, 2)))
    assert (outcome.status, outcome.error) == ("error", "LinAlgError: Singular matrix")
    assert outcome.traceback.splitlines() == [
        '  File "<candidate>", line 6, in f',
        "    return g(x)",
        '  File "<candidate>", line 3, in g',
        "    return numpy.linalg.inv(x)",
    ]
    assert outcome.stdout == "before\n"


def test_inputs_keep_their_order_and_an_error_costs_only_its_own(sandbox: LocalSandbox) -> None:
    outcomes = sandbox.call_many("def f(x):\n    print(x)\n    return 6 / x", "f", [(1,), (0,), (2,)])
    assert [(o.status, o.value, o.stdout) for o in outcomes] == [
        ("ok", 6.0, "1\n"),
        ("error", None, "0\n"),
        ("ok", 3.0, "2\n"),
    ]


def test_no_inputs_need_no_process(sandbox: LocalSandbox) -> None:
    assert sandbox.call_many("while True: pass", "f", []) == []


def test_a_crash_stands_for_its_input_and_those_after_it(sandbox: LocalSandbox) -> None:
    code = "import os\ndef f(x):\n    if x == 2: os._exit(3)\n    return x"
    outcomes = sandbox.call_many(code, "f", [(1,), (2,), (3,)])
    assert [o.status for o in outcomes] == ["ok", "error", "error"]
    assert "exit code 3" in outcomes[1].error


def test_a_timeout_keeps_the_answers_before_it(sandbox: LocalSandbox) -> None:
    code = "def f(x):\n    print('at', x, flush=True)\n    while x == 2: pass\n    return x"
    outcomes = sandbox.call_many(code, "f", [(1,), (2,), (3,)], limits=Limits(seconds=0.4, patience=100))
    assert [o.status for o in outcomes] == ["ok", "timeout", "timeout"]
    assert outcomes[1].stdout.endswith("at 2\n")


def test_candidates_start_alike_and_share_nothing(sandbox: LocalSandbox) -> None:
    code = (
        "import random, numpy\ndef f():\n    open('x', 'a').write('x')\n"
        "    return random.random(), numpy.random.rand(), open('x').read()"
    )
    first, second = (sandbox.call(code, "f").value for _ in range(2))
    assert first == second


def test_the_environment_is_scrubbed(sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    with open_sandbox() as fresh:
        seen = fresh.call("import os\ndef f():\n    return dict(os.environ), os.getcwd()", "f")
        outcome = fresh.command(["cat", "/proc/self/environ"])
    environment, folder = seen.value
    assert "SOME_API_KEY" not in repr((environment, outcome))
    assert environment["HOME"] == environment["TMPDIR"] == folder


def test_an_input_that_cannot_be_sent_is_the_callers_error(sandbox: LocalSandbox) -> None:
    with pytest.raises(TraceBenchError, match="`object`"):
        sandbox.call("def f(x): pass", "f", object())


def test_code_that_is_no_text_is_the_candidates_error(sandbox: LocalSandbox) -> None:
    assert sandbox.call("\ud800", "f").status == "invalid"
    assert sandbox.call("def f():\n    return '\ud800'", "f").value == "?"
    with sandbox.session("x = \0", "f") as session:
        assert session.call().status == "invalid"


def test_large_values_travel_both_ways(sandbox: LocalSandbox) -> None:
    array = np.random.default_rng(0).random(500_000)
    outcome = sandbox.call("def f(x):\n    return x * 2", "f", array)
    np.testing.assert_array_equal(outcome.value, array * 2)


def test_threads_may_evaluate_at_once(sandbox: LocalSandbox) -> None:
    found: dict[int, list[int]] = {}

    def work(n: int) -> None:
        found[n] = [sandbox.call("def f(x):\n    return x", "f", n * 100 + i).value for i in range(10)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: [n * 100 + i for i in range(10)] for n in range(4)}


def test_a_session_remembers_and_survives_errors(sandbox: LocalSandbox) -> None:
    code = "seen = []\ndef f(x):\n    seen.append(x)\n    return sum(seen)\ndef g():\n    raise ValueError('no')"
    with sandbox.session(code, "f") as session:
        assert [session.call(n).value for n in (1, 2, 3)] == [1, 3, 6]
        assert session.call(entry="g").error == "ValueError: no"
        assert session.call(entry="h").status == "invalid"
        assert session.call(4).value == 10


def test_a_session_repeats_its_fatal_outcome(sandbox: LocalSandbox) -> None:
    with sandbox.session("def f(x):\n    while x: pass", "f", limits=Limits(seconds=0.4, patience=100)) as session:
        assert session.call(0).status == "ok"
        late = session.call(1)
        assert late.status == "timeout"
        assert session.call(0) is late
    with sandbox.session("def f(:", "f") as session:
        assert session.call(1).status == session.call(1).status == "invalid"
    with sandbox.session("import os\ndef f():\n    os._exit(1)", "f") as session:
        assert [session.call().status, session.call().status] == ["error", "error"]


def test_a_closed_session_says_so(sandbox: LocalSandbox) -> None:
    session = sandbox.session("def f(): pass", "f")
    session.close()
    session.close()
    assert session.call().error == "The session is closed."


def test_a_command_sees_its_files_and_nothing_else(sandbox: LocalSandbox, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    outcome = sandbox.command(
        ["sh", "-c", f"cat a/b.txt -; cat {tmp_path}/key; echo x > {tmp_path}/out; exit 3"],
        files={"a/b.txt": "file\n"},
        stdin="input\n",
    )
    assert outcome.status == "ok"
    assert (outcome.value["returncode"], outcome.value["stdout"]) == (3, "file\ninput\n")
    assert "secret" not in repr(outcome)
    assert not (tmp_path / "out").exists()


def test_a_command_has_no_network(sandbox: LocalSandbox) -> None:
    script = "import socket; socket.create_connection(('127.0.0.1', 9), 1)"
    outcome = sandbox.command([sys.executable, "-c", script], limits=Limits(seconds=5))
    assert outcome.value["returncode"] != 0
    assert "Error" in outcome.value["stderr"]


def test_a_command_that_is_missing_says_so(sandbox: LocalSandbox) -> None:
    outcome = sandbox.command(["no-such-program"])
    assert outcome.value["returncode"] == 127
    assert "no-such-program" in outcome.value["stderr"]


def test_a_command_cannot_be_given_a_file_outside(sandbox: LocalSandbox) -> None:
    with pytest.raises(TraceBenchError, match="outside"):
        sandbox.command(["true"], files={"../x": ""})


def test_outcomes_are_specs(sandbox: LocalSandbox) -> None:
    outcome = sandbox.call("def f(): return 1", "f")
    assert isinstance(outcome, Outcome)
    assert outcome.seconds > 0


@pytest.mark.parametrize(
    "limits",
    [Limits(seconds=math.inf), Limits(seconds=1e6), Limits(memory_mb=10**14), Limits(seconds=1, file_mb=10**14)],
    ids=str,
)
def test_limits_beyond_what_a_system_counts_limit_nothing(sandbox: LocalSandbox, limits: Limits) -> None:
    code = "def f(x):\n    return x"
    with sandbox.session(code, "f", limits=limits) as session:
        answers = [sandbox.call(code, "f", 1, limits=limits), session.call(1)]
    assert [(answer.status, answer.value) for answer in answers] == [("ok", 1)] * 2
    assert sandbox.command(["echo", "1"], limits=limits).value["stdout"] == "1\n"


def test_what_cannot_be_limited_is_not_measured(sandbox: LocalSandbox) -> None:
    """No process can be on a core that is not there: that says nothing of the code."""
    nowhere = Limits(core=100_000)
    for ask in (
        lambda: sandbox.call("def f(): pass", "f", limits=nowhere),
        lambda: sandbox.session("def f(): pass", "f", limits=nowhere),
        lambda: sandbox.command(["true"], limits=nowhere),
    ):
        with pytest.raises(SandboxUnavailableError, match="could not start a process"):
            ask()


def test_what_no_file_and_no_argument_can_be_is_the_commands_own_failure(sandbox: LocalSandbox) -> None:
    for name, words in (("a" * 300, "File name too long"), ("a\0b", "embedded null byte")):
        ended = sandbox.command(["true"], files={name: ""}).value
        assert (ended["returncode"], words in ended["stderr"]) == (127, True)
    for word, words in (("a\0b", "embedded null byte"), ("a" * 10_000_000, "Argument list too long")):
        ended = sandbox.command(["echo", word]).value
        assert (ended["returncode"], words in ended["stderr"]) == (127, True)


def test_what_a_module_prints_when_it_is_imported_is_no_word_of_the_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "greets.py").write_text("import os\nprint('Hello!', flush=True)\nos.write(1, b'{}')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with open_sandbox(preload=["greets"]) as opened:
        assert opened.call("def f(): return 1", "f").value == 1
