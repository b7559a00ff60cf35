"""The gate before a prover: what a file may not hold is told by its line, and comments and strings hold nothing."""

from __future__ import annotations

import pytest

from tracebench_veribench.text.gate import Finding, Place, inspect, rule
from tracebench_veribench.text.lexing import COQ, LEAN, Lexicon, code_only

RULES = [rule(r"\bAxiom\s+\w+", "it proves nothing"), rule(r"\badmit\b", "it leaves a hole")]


def told(text: str, lexicon: Lexicon = COQ) -> list[str]:
    return [str(finding) for finding in inspect(text, lexicon, RULES)]


def test_a_file_at_the_most_is_looked_at_and_one_character_more_is_not() -> None:
    text = "x" * 199_993 + "\nadmit."
    assert told(text) == ["line 2: `admit` is not allowed: it leaves a hole"]
    assert told(text + " ") == ["line 1: the file has 200,001 characters, more than 200,000"]


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        (" \n", ["line 1: the file is empty"]),
        ("a\nb\0", ["line 2: the file holds a NUL character"]),
        ("a\n(* b", ["line 2: the comment that opens on line 2 is never closed"]),
        ('a\n\n"b', ["line 3: the string that opens on line 3 is never closed"]),
        ("Axiom\n  a. admit.", ["line 1: `Axiom a` is not allowed: it proves nothing",
                                "line 2: `admit` is not allowed: it leaves a hole"]),
        ("admit. Axiom a.\nadmit. admit.", ["line 1: `admit` is not allowed: it leaves a hole",
                                            "line 2: `admit` is not allowed: it leaves a hole"]),
        ('(* admit (* "*)" *) admit *) "admit ""admit"', []),
        ("admitted", []),
    ],
)  # fmt: skip
def test_the_first_that_a_line_breaks_is_told_in_the_order_of_the_lines(text: str, findings: list[str]) -> None:
    assert told(text) == findings


def test_a_judge_is_given_code_alone_and_what_it_names_is_told_where_it_stands() -> None:
    seen: list[str] = []

    def judge(code: str) -> list[Place]:
        seen.append(code)
        return [Place(code.index("b"), "b", "it is odd")]

    assert inspect("(* b *)\nadmit. b", COQ, RULES, judge) == [Finding(2, "admit", "it leaves a hole")]
    assert inspect("(* b *)\na\nb admit.", COQ, RULES, judge)[0] == Finding(3, "b", "it is odd")
    assert seen[0] == " " * 7 + "\nadmit. b"


@pytest.mark.parametrize(
    ("lexicon", "text", "code"),
    [
        (COQ, "a (* b\nc *) d", "a     \n     d"),
        (COQ, 'a "b""c" d', "a        d"),
        (COQ, r'a "b\" d', "a      d"),
        (COQ, "-- a", "-- a"),
        (LEAN, "a -- b\nc", "a     \nc"),
        (LEAN, "a -- b", "a     "),
        (LEAN, "/- a /- b -/ c -/ d", " " * 17 + " d"),
        (LEAN, '/- " -/ d', "        d"),
        (LEAN, r'a "b\" -- c" d', "a            d"),
        (LEAN, "a '\"' b", "a     b"),
        (LEAN, "a' \"x\" b'", "a'     b'"),
        (LEAN, 'r#"a"b"# c', "         c"),
        (LEAN, "f x' 'a' y", "f x'     y"),
        (LEAN, "('\"', '\\'', '\\x2d')", "(   ,     ,       )"),
        (LEAN, "xs[i]'(by simp) s'.1", "xs[i]'(by simp) s'.1"),
    ],
)
def test_comments_and_strings_are_blanks_of_their_length(lexicon: Lexicon, text: str, code: str) -> None:
    assert code_only(text, lexicon) == code


@pytest.mark.parametrize(
    "text",
    [
        "exact xs[0]'\"' \" axiom a : b -- \"", "exact λ'\"' => c axiom a : b -- \"", "((x : c) \u00d7'\"' \" axiom a : b -- \")",
        "exact xs[0]'-'-- axiom a : b", "x'\"", "f 1'\"'", 'exact λr"\\" axiom a : b -- "', "xs[0]'\\\\",
    ],
)  # fmt: skip
def test_what_may_belong_to_the_word_before_it_is_refused(text: str) -> None:
    """Lean reads `xs[0]'` and then text, or a whole character: what is hidden in one way of reading is code in the other."""
    (found,) = inspect(f"a\n{text}", LEAN, RULES)
    assert str(found).startswith("line 2: what may be a character or text here may be of the word before it")


@pytest.mark.parametrize("text", ['r"a', 'r#"a"', 'r##"a"# r"b" r#"' * 9])
def test_a_raw_string_that_is_not_closed_is_told(text: str) -> None:
    assert "the string that opens on line 1 is never closed" in told(text, LEAN)[0]
