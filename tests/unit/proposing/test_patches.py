"""Patches are applied as a whole or refused as a whole, and nothing is guessed."""

from __future__ import annotations

import contextlib
import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.proposing.conversion import RefusedValue
from tracebench_core.proposing.patches import DIVIDER, NO_NEWLINE, REPLACE, SEARCH, apply_patch, is_patch

BASE = "def f(x):\n    y = x\n    return y\n\n\ndef g(x):\n    y = x\n    return -y\n"
LINES = st.lists(st.sampled_from(["a", "b", "", "  c", "-d", "+e", "def f():", "x = 1"]), max_size=12)


def block(search: str, replace: str) -> str:
    middle = f"{replace}\n" if replace else ""
    return f"{SEARCH}\n{search}\n{DIVIDER}\n{middle}{REPLACE}"


def text_of(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@given(old=LINES, new=LINES, context=st.integers(0, 4))
def test_a_diff_of_two_texts_leads_from_one_to_the_other(old: list[str], new: list[str], context: int) -> None:
    if old == new:
        return
    diff = "\n".join(difflib.unified_diff(old, new, "a", "b", lineterm="", n=context))
    assert is_patch(diff)
    assert apply_patch(text_of(old), diff) == text_of(new)
    if old:
        assert apply_patch(text_of(old).replace("\n", "\r\n"), diff) == text_of(new).replace("\n", "\r\n")


@given(
    parts=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8), min_size=1, max_size=6)
)
def test_a_block_replaces_its_one_place_and_nothing_else(parts: list[str]) -> None:
    marked = [f"line {i} {part}".replace("\n", " ") for i, part in enumerate(parts)]
    base = text_of(marked)
    for i, line in enumerate(marked):
        assert apply_patch(base, block(line, "new")) == text_of([*marked[:i], "new", *marked[i + 1 :]])


@given(
    base=st.text(max_size=40), patch=st.text(st.sampled_from(f"@-+ \n\r\\1,{SEARCH}{DIVIDER}{REPLACE}"), max_size=80)
)
def test_whatever_is_written_is_applied_or_refused(base: str, patch: str) -> None:
    for written in (patch, f"{SEARCH}\n{patch}", f"@@ -1 +1 @@\n{patch}"):
        with contextlib.suppress(RefusedValue):
            assert isinstance(apply_patch(base, written), str)


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (block("    y = x", "    y = 2 * x"), "stands 2 times"),
        (block("nobody", "x"), "nowhere"),
        (block("", "x"), "searches for nothing"),
        (block("  \n ", "x"), "searches for nothing"),
        (block("    return y", "    return 2") + "\n" + block("return y\n\n", "z"), "the same place"),
        (block("    return y", "a") + "\n" + block("    return y", "b"), "the same place"),
        (block("    return y", "a") + "\n" + block("nobody", "b"), "nowhere"),
        (f"{SEARCH}\n    return y\n{DIVIDER}\nx", "has no"),
        (f"{SEARCH}\n    return y\n{REPLACE}", "has no"),
        (f"{SEARCH}\n{SEARCH}\n    return y\n{DIVIDER}\n{REPLACE}", "has no"),
        (block("    return y", "x") + "\nand so on", "outside of its blocks"),
        ("@@ -90 +90 @@\n-    y = x\n+    y = 1", "stand 2 times"),
        (f"@@ -{'9' * 5000} +1 @@\n-    y = x\n+    y = 1", "stand 2 times"),
        ("@@ -1 +1 @@\n-def h(x):\n+def k(x):", "nowhere"),
        ("@@ -1 +1 @@\n def f(x):", "changes nothing"),
        ("@@ -1 +1 @@\n*def f(x):", "begins with none"),
        ("--- a/one\n+++ b/one\n", "has no hunk"),
        ("@@ -1 +1 @@\n-def f(x):\n+def k(x):\n--- a/two\n+++ b/two\n@@ -1 +1 @@\n-a\n+b", "more than one text"),
        ("@@ -6 +6 @@\n-def g(x):\n+def k(x):\n@@ -6 +6 @@\n-def g(x):\n+def l(x):", "the same place"),
    ],
)
def test_what_is_ambiguous_is_refused_whole(patch: str, why: str) -> None:
    with pytest.raises(RefusedValue, match=why):
        apply_patch(BASE, patch)


def test_blocks_are_found_in_the_current_value_and_not_in_one_anothers_result() -> None:
    both = block("    return y", "    return -y  # f") + "\n" + block("    return -y", "    return y")
    assert apply_patch(BASE, both) == BASE.replace("return -y", "return Y").replace(
        "return y", "return -y  # f"
    ).replace("Y", "y")


def test_a_whole_line_is_meant_before_a_part_of_one() -> None:
    assert apply_patch("ab\nb\n", block("b", "c")) == "ab\nc\n"
    assert apply_patch("x = 1\nx = 10\n", block("x = 1", "x = 2")) == "x = 2\nx = 10\n"


def test_lines_may_be_taken_out_and_put_in() -> None:
    assert apply_patch("a\nb\nc\n", block("b", "")) == "a\nc\n"
    assert apply_patch("a\nc\n", block("a", "a\nb")) == "a\nb\nc\n"


def test_line_ends_are_kept_and_may_differ_in_the_patch() -> None:
    patch = block("a\nb", "a\nB")
    assert apply_patch("a\r\nb\r\n", patch) == "a\r\nB\r\n"
    assert apply_patch("a\nb\n", patch.replace("\n", "\r\n")) == "a\nB\n"
    with pytest.raises(RefusedValue, match="nowhere"):
        apply_patch("a\r\nb\n", patch)


def test_the_last_line_end_is_the_patchs_to_give_and_to_take() -> None:
    assert apply_patch("a", f"@@ -1 +1 @@\n-a\n{NO_NEWLINE}\n+a\n") == "a\n"
    assert apply_patch("a\n", f"@@ -1 +1 @@\n-a\n+b\n{NO_NEWLINE}") == "b"
    assert apply_patch("a", "@@ -1 +1 @@\n-a\n+b") == "b"


@pytest.mark.parametrize(
    "written",
    ["def f(x):\n    return x\n", "", "-x", "@decorator\ndef f(): ...", "a\n" + block("a", "b"), "--- a rule"],
)
def test_a_whole_value_is_no_patch(written: str) -> None:
    assert not is_patch(written)


def test_a_patch_may_stand_in_a_fence() -> None:
    fenced = f"```diff\n{block('    return -y', '    return y')}\n```"
    assert is_patch(fenced)
    assert apply_patch(BASE, fenced) == BASE.replace("-y", "y")


@pytest.mark.parametrize(
    ("base", "patch", "words"),
    [
        ("a" * 200_000, block("a" * 100_000, "b"), "more than 100 times"),
        ("a\n" * 50_000, "@@ @@\n" + "-a\n" * 25_000 + "+b", "more than 100 times"),
        ("a\n" * 100, "@@ @@\n-a\n+b", "stand 100 times"),
    ],
    ids=["block", "hunk", "a hundred"],
)
def test_a_part_that_would_fit_in_many_places_is_refused_in_a_moment(base: str, patch: str, words: str) -> None:
    """Where every place was looked at whole the test would end by its timeout."""
    with pytest.raises(RefusedValue, match=words):
        apply_patch(base, patch)


def test_a_patch_of_thousands_of_parts_is_applied_in_a_moment() -> None:
    lines = [f"line {i}." for i in range(5000)]
    base, wanted = "\n".join(lines), "\n".join(f"{line}!" for line in lines)
    assert apply_patch(base, "\n".join(f"@@ @@\n-{line}\n+{line}!" for line in lines)) == wanted
    assert apply_patch(base, "\n".join(block(line, f"{line}!") for line in lines)) == wanted
