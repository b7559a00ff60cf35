"""KernelBench's own files and rows: what is listed, how constants are rewritten, what hints say. None of it needs PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from tracebench_core.errors import MissingRequirementError
from tracebench_kernelbench.modules.backends import BACKENDS, INSTALL, Backend
from tracebench_kernelbench.modules.comparing import (
    Tolerance,
    Tried,
    differs,
    farthest,
    halved,
    is_finite,
    jolted,
    made_strict,
)
from tracebench_kernelbench.modules.constants import read_constants, rewrite_constants
from tracebench_kernelbench.modules.hints import find_hints
from tracebench_kernelbench.modules.inputs import widened
from tracebench_kernelbench.modules.listing import list_modules, list_numba
from tracebench_kernelbench.modules.shrinking import digest
from tracebench_kernelbench.modules.source import CONSTANT, at_cpu_sizes, cpu_sizes, find_problems
from tracebench_kernelbench.modules.task import ModuleOptions, renamed
from tracebench_kernelbench.settings import Settings

PLAIN, SCALED = Tolerance(1e-4, 1e-4), Tolerance(1e-4, 1e-4, by_scale=True)
CODE = '''"""A comment with é before it."""
import torch
M = 1024 * 4
N = 2048 * 2  # columns
height = width = 128
a, b = 16, (3, 3)
big = 2 ** 10
layer_sizes = [16384, 16384]
rate = 0.5
flag = True
"é"; K = 7
'''


def write_checkout(root: Path) -> Path:
    for level, names in ((1, ("1_Square_matrix_", "2_Standard", "10_Later")), (4, ("3_org-model-125m_bs1",))):
        folder = root / "KernelBench" / f"level{level}"
        folder.mkdir(parents=True)
        for name in names:
            (folder / f"{name}.py").write_text(f"# {name}\n{CODE}")
    (root / "KernelBench/level1/notes.txt").write_text("no problem")
    (root / "KernelBench/level1/helper.py").write_text("no number")
    return root


def settings_of(root: Path) -> Settings:
    settings = Settings()
    settings.configure({"options": {"root": str(root)}})
    return settings


def test_constants_of_every_shape_are_read() -> None:
    assert read_constants(CODE) == {"M": 4096, "N": 4096, "height": 128, "width": 128, "a": 16, "big": 1024, "K": 7}


def test_rewriting_changes_the_numbers_and_nothing_else() -> None:
    changed = rewrite_constants(CODE, {"N": 64, "height": 32, "width": 32, "a": 8, "big": 4, "K": 1})

    assert read_constants(changed) == {"M": 4096, "N": 64, "height": 32, "width": 32, "a": 8, "big": 4, "K": 1}
    assert "N = 64  # columns\n" in changed
    assert "a, b = 8, (3, 3)\n" in changed
    assert changed.count("\n") == CODE.count("\n")
    assert rewrite_constants(CODE, {}) == CODE


@pytest.mark.parametrize("values", [{"missing": 1}, {"rate": 1}, {"layer_sizes": 1}, {"height": 1, "width": 2}])
def test_what_cannot_be_rewritten_is_refused(values: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"names (no whole number|several constants)"):
        rewrite_constants(CODE, values)


def test_a_checkout_is_listed_in_order_with_groups_and_aliases(tmp_path: Path) -> None:
    specs = {spec.name: spec for spec in list_modules(settings_of(write_checkout(tmp_path)))}

    assert [name for name in specs if not name.startswith("cpu/")] == ["level1/1", "level1/2", "level1/10", "level4/3"]
    assert specs["level1/1"].aliases == ("level1/1_Square_matrix_",)
    assert "level1/representative" in specs["level1/1"].groups
    assert "representative" not in specs["level1/2"].groups
    assert specs["level1/1"].requires[0].hint == 'pip install "tracebench-kernelbench[torch]"'
    assert "evaluation server" in specs["level4/3"].broken


def test_rows_of_the_hub_are_the_same_problems(tmp_path: Path) -> None:
    row = {"code": CODE, "level": 1, "name": "1_Square_matrix_", "problem_id": 1}
    (tmp_path / "level_1.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({"no": "problem"}) + "\n")

    (found,) = find_problems(tmp_path)

    assert (found.level, found.number, found.name, found.read()) == (1, 1, "Square_matrix_", CODE)


@pytest.mark.parametrize(
    ("text", "reason"), [("{]", "line 1: not JSON"), ("[1]", "line 1: not an object"), (None, "holds no")]
)
def test_a_root_that_cannot_be_read_is_listed_with_the_reason(text: str | None, reason: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "level_1.jsonl").write_text(text)

    (spec,) = list_modules(settings_of(tmp_path))

    assert reason in spec.broken


def test_a_root_for_all_suites_need_not_hold_kernelbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELBENCH_ROOT", raising=False)
    settings = Settings()
    settings.configure({"root": tmp_path})

    assert list(list_modules(settings)) == []


def test_sizes_for_a_cpu_belong_to_one_version_of_a_file() -> None:
    assert len(cpu_sizes()) >= 150
    assert {level for level, _ in cpu_sizes()} == {1, 2, 3}
    with pytest.raises(LookupError, match="level1/1"):
        at_cpu_sizes(1, 1, CODE)


def test_what_measures_nothing_is_listed_with_the_reason_and_in_no_choice_of_problems(tmp_path: Path) -> None:
    folder = tmp_path / "level1"
    folder.mkdir()
    (folder / "23_Softmax.py").write_text(CODE)
    row = cpu_sizes()[1, 23]
    known = {**row, "code": digest(CODE)}

    (own, cpu) = list(list_modules(settings_of(tmp_path)))
    assert (own.broken, cpu.broken) == ("", ""), "another version of the file says nothing"

    cpu_sizes()[1, 23] = known
    try:
        own, cpu = list(list_modules(settings_of(tmp_path)))
    finally:
        cpu_sizes()[1, 23] = row
    assert "does not depend on its inputs" in own.broken
    assert "does not depend on its inputs" in cpu.broken
    assert not any("representative" in group for spec in (own, cpu) for group in spec.groups)


def test_every_reason_is_about_a_problem_and_most_have_none() -> None:
    refused = [row["refused"] for row in cpu_sizes().values() if "refused" in row]

    assert 9 <= len(refused) < 40
    assert refused.count(CONSTANT) == 9


def test_numba_has_a_task_per_problem_of_our_own() -> None:
    specs = list(list_numba())

    assert len(specs) == 36
    assert all(spec.sandbox == ("numpy", "numba", "tracebench_kernelbench.modules.warm_numba") for spec in specs)


def test_a_problem_is_its_own_first_candidate() -> None:
    code = "class Model(nn.Module):\n    def __init__(self):\n        super(Model, self).__init__()\n"

    assert renamed(code) == code.replace("Model(nn", "ModelNew(nn").replace("super(Model,", "super(ModelNew,")


@pytest.mark.parametrize(
    ("source", "backend", "words"),
    [
        ("try:\n    pass\nexcept Exception:\n    pass", "torch", "catches exceptions"),
        ("import time\ntime.perf_counter = lambda: 0", "torch", "assigns to a clock"),
        ("from threading import Thread", "torch", "threading"),
        ("import gc", "torch", "`gc`"),
        ("x = x.half()", "torch", "lower precision"),
        ("key = x.data_ptr()", "torch", "addresses"),
        ("import numba, torch\ny = torch.nn.functional.relu(x)", "numba", "operators of PyTorch"),
        ("import torch", "triton", "imports no `triton`"),
        ("import torch", "cpp", "imports no `cpp_extension`"),
        ("import torch\ny = torch.nn.functional.relu(x)", "cpp", "operators of PyTorch"),
    ],
)
def test_hints_say_what_a_source_looks_like(source: str, backend: str, words: str) -> None:
    assert any(words in hint for hint in find_hints(source, backend))


@pytest.mark.parametrize(
    ("source", "backend"),
    [
        (
            "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)",
            "torch",
        ),
        ("import numba\n@numba.njit\ndef kernel(x, out):\n    out[:] = x", "numba"),
        ("no python (", "torch"),
        ("import torch\nclass ModelNew:\n    def forward(self, x):\n        return torch.relu(x)", "torch_compile"),
        ("from torch.utils.cpp_extension import load_inline\nbuilt = load_inline(name='a', cpp_sources=['b'])", "cpp"),
    ],
)
def test_an_honest_source_has_no_hints(source: str, backend: str) -> None:
    assert find_hints(source, backend) == []


@pytest.mark.parametrize(
    ("backend", "words", "hint"),
    [
        (Backend("a", "A", ("numpy", "not_there"), ""), "`a` needs the package `not_there`", "pip install"),
        (Backend("a", "A", ("numpy",), "", tools=("sh", "not-there")), "`a` needs the command `not-there`", "apt-get"),
        (Backend("a", "A", ("numpy",), "", tools=("sh",)), "", ""),
    ],
)
def test_what_a_backend_lacks_is_named_with_the_command_that_installs_it(
    backend: Backend, words: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(INSTALL, "not_there", 'pip install "not-there"')
    monkeypatch.setitem(INSTALL, "not-there", "sudo apt-get install not-there")
    if not words:
        backend.require()
        return
    with pytest.raises(MissingRequirementError, match=words) as told:
        backend.require()
    assert hint in str(told.value.hint)


def test_every_backend_says_how_to_install_all_that_it_needs() -> None:
    assert {name for backend in BACKENDS.values() for name in (*backend.modules, *backend.tools)} <= INSTALL.keys()
    assert set(get_args(ModuleOptions.model_fields["backend"].annotation)) == BACKENDS.keys()


WANT = [np.array([1.0, 2.0], np.float32)]


@pytest.mark.parametrize(
    ("got", "words"),
    [
        ([np.array([1.0, 2.1], np.float32)], "[1] = 2.0999999, expected 2"),
        ([np.array([np.nan, 2.0], np.float32)], "[0] = nan"),
        ([np.array([1.0, 2.0])], "is float64"),
        ([np.array([1, 2], np.int32)], "is int32"),
        ([np.array([1.0], np.float32)], "has the shape (1,)"),
        ([np.array(1.0, np.float32)], "has the shape ()"),
        ([WANT[0], WANT[0]], "returns 2 arrays"),
        ([np.array([1.0, 2.0], np.float16)], "is float16"),
        ([np.array([np.inf, 2.0], np.float32)], "[0] = inf"),
        ([], "returns 0 arrays"),
    ],
)
def test_wrong_outputs_are_told(got: object, words: str) -> None:
    assert words in str(differs(got, WANT, PLAIN))


@pytest.mark.parametrize("right", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_right_only_where_it_should_be(right: float) -> None:
    want = [np.array([right, 2.0], np.float32)]

    assert differs(want, want, PLAIN) is None
    for wrong in {np.inf, -np.inf, 0.0, 3e38} - {right}:
        assert differs([np.array([wrong, 2.0], np.float32)], want, PLAIN) is not None


@pytest.mark.parametrize("size", [1e-5, 1e-3, 1e-2, 1.0, 30.0])
def test_small_outputs_are_held_to_as_many_digits_as_large_ones(size: float) -> None:
    want = [(np.random.default_rng(1).standard_normal(4096) * size).astype(np.float32)]
    summed = [want[0] + np.float32(1e-6 * size) * np.sign(want[0])]
    strict, tells = made_strict(SCALED, [Tried(want, halved(want), jolted(want), want)])

    assert tells
    assert differs(halved(want), want, strict) is not None
    assert differs(summed, want, strict) is None
    assert differs(halved(want), want, PLAIN) is None or size >= 1


def positives(rows: int, columns: int) -> list[np.ndarray]:
    return [np.random.default_rng(2).random((rows, columns), np.float32)]


@pytest.mark.parametrize(("columns", "strict"), [(1, True), (16, True), (256, True), (1 << 16, False)])
def test_a_mean_of_numbers_in_half_precision_is_wrong_as_long_as_it_can_be_told(columns: int, strict: bool) -> None:
    """Their errors cancel: of 65,536 numbers the mean is as right in half precision as one that is summed one after the other in single."""
    given = positives(64, columns)
    want, half, jolt = (
        [x.astype(np.float64).mean(1).astype(np.float32)] for [x] in (given, halved(given), jolted(given))
    )
    in_turn = [np.cumsum(given[0], 1, dtype=np.float32)[:, -1] / np.float32(columns)]
    found, tells = made_strict(SCALED, [Tried(want, half, jolt, want)])

    assert tells == strict
    assert (differs(half, want, found) is not None) == strict
    assert differs(halved(want), want, found) is not None
    assert farthest(want, in_turn, found) < 0.5


@pytest.mark.parametrize(("worth", "is_wrong"), [(0.0, False), (1e-6, False), (5e-5, True), (1e-2, True)])
def test_weights_of_half_precision_are_wrong_where_they_are_worth_enough_to_be_told(
    worth: float, is_wrong: bool
) -> None:
    want = [1 + np.random.default_rng(4).random(64, np.float32)]
    of_weights = [want[0] + np.float32(worth)]
    found, tells = made_strict(SCALED, [Tried(want, [want[0] + 1], jolted(want), of_weights)])

    assert tells
    assert (differs(of_weights, want, found) is not None) == is_wrong
    assert differs([want[0] + np.float32(4e-7)], want, found) is None


def test_what_is_all_rounding_keeps_the_tolerance_that_it_had() -> None:
    """Means of what has the mean 0: their size says nothing of how exact they can be."""

    def centred(given: np.ndarray) -> np.ndarray:
        return given - given.mean(1, keepdims=True)

    given = positives(64, 256)
    want, half, jolt = ([centred(x).mean(1)] for [x] in (given, halved(given), jolted(given)))
    found, tells = made_strict(SCALED, [Tried(want, half, jolt, want)])

    assert not tells
    assert differs([np.flip(centred(given[0]), 1).mean(1)], want, found) is None
    assert differs([np.cumsum(centred(given[0]), 1, dtype=np.float32)[:, -1] / np.float32(256)], want, found) is None


@pytest.mark.parametrize(("jolt", "allowed"), [(1e-6, 1.0), (1e-4, 2.0), (3e-4, 6.0), (1.0, 1.0)])
def test_what_the_last_bits_are_worth_is_allowed_unless_they_decide_something(jolt: float, allowed: float) -> None:
    """Of outputs of size 1 2e-4 is allowed at first; four times what last bits are worth comes before that."""
    want = [np.ones(64, np.float32)]
    found, tells = made_strict(SCALED, [Tried(want, [want[0] + 1], [want[0] + np.float32(jolt)], want)])

    assert found.rtol == pytest.approx(allowed * 1e-4, rel=1e-2)
    assert not tells or differs([want[0] + np.float32(4.9e-4)], want, found) is not None


def test_numbers_are_halved_as_numpy_halves_them_and_keep_their_range() -> None:
    drawn = np.random.default_rng(3).standard_normal(4096).astype(np.float32)
    normal = drawn[np.abs(drawn) > 1e-4]

    assert np.array_equal(halved([normal])[0], normal.astype(np.float16).astype(np.float32))
    assert halved([np.array([1e30], np.float32)])[0][0] == pytest.approx(1e30, rel=1e-3)
    assert (jolted([drawn])[0] != drawn).all()
    for left in (np.array([1, 2]), np.array([1.5]), 7, None):
        assert halved([left])[0] is left
        assert jolted([left])[0] is left


def test_inputs_between_0_and_1_are_widened_and_keep_their_structure() -> None:
    drawn = np.random.default_rng(1).random((64, 64), np.float32)
    both = np.tril(drawn) + np.tril(drawn, -1).T

    wide, symmetric, half = widened(drawn), widened(both), widened(np.tril(drawn))

    assert 0.08 < (wide < 0).mean() < 0.17
    assert (wide.min(), wide.max()) < (-3, 3)
    assert wide.max() > 3
    assert np.array_equal(symmetric, symmetric.T)
    assert np.array_equal(half == 0, np.tril(drawn) == 0)
    assert np.array_equal(widened(drawn.T), wide.T)


def test_an_input_without_dimensions_is_widened_and_has_none() -> None:
    wide = [widened(np.array(number, np.float32)) for number in np.random.default_rng(1).random(64)]

    assert {(type(value), value.shape, value.dtype.name) for value in wide} == {(np.ndarray, (), "float32")}
    assert min(wide) < 0
    assert max(wide) > 1


@pytest.mark.parametrize(
    "left",
    [
        np.array([0, 1, 1, 0], np.float32), np.array([-1.0, 0.5], np.float32), np.array([0.5, 2.0], np.float32), np.array([0.5, 0.25]),
        np.array([1, 0]), np.array([], np.float32), np.array([np.nan, 0.5], np.float32), 7, None,
    ],
)  # fmt: skip
def test_other_inputs_are_left_as_they_are(left: object) -> None:
    assert widened(left) is left


def test_no_bits_that_a_candidate_leaves_disturb_the_comparison() -> None:
    left = [np.array([0x7F800001, 0xFFA00000], np.uint32).view(np.float32)]

    assert "values are wrong" in str(differs(left, WANT, SCALED))
    assert not is_finite(left)


def test_outputs_within_tolerance_are_right() -> None:
    assert differs([np.array([1.00001, 2.0001], np.float32)], WANT, PLAIN) is None
