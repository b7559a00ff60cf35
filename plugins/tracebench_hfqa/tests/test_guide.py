"""What is said of replies: the words that teach, what a judge adds, several replies of one row, and what tokens cost."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import ConfigError
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Case
from tracebench_hfqa.guide import QAGuide, TokenGuide, cut
from tracebench_hfqa.task import build, build_with_tokens, sizes_of, sizes_with_tokens

PARIS = Case(question="Which town?", gold=["Paris"], support=("The Seine", "France"))


class Saying:
    """A context whose model says one thing after the other."""

    def __init__(self, *said: str) -> None:
        self.left, self.prompts = [*said], list[str]()

    def complete(self, messages: Any, *, role: str, temperature: float) -> Any:
        assert (role, temperature) == ("judge", 0)
        self.prompts.append(messages[0]["content"])
        return [type("Said", (), {"text": text})() for text in (self.left.pop(0), "yes")]


def told(*replies: Any, case: Case = PARIS, said: tuple[str, ...] = (), **how: Any) -> Any:
    guide = QAGuide(find_family("hfqa"), seconds=1.0, **how)
    rows = [reply if isinstance(reply, dict) else {"text": reply} for reply in replies]
    return guide(case.example("e"), {"replies": rows}, Saying(*said))  # type: ignore[arg-type]


def test_what_is_right_needs_no_more_words() -> None:
    assert (told("Paris").score, told("Paris").text) == (1.0, "Right.")


def test_what_is_wrong_is_told_with_the_question_the_answer_and_what_was_read() -> None:
    asked, said, gold, read, score = told("Rome").text.splitlines()
    assert (asked, said, gold) == ("Question: Which town?", "Reply: Rome", "Right answer: Paris")
    assert read == "Read from the reply: Rome"
    assert score.startswith("Score 0.00.")
    assert "Reply: (empty)" in told(" ").text
    assert "Read from the reply: nothing" in told(" ").text
    long = told("x" * 5000, case=Case(question="q" * 5000, gold=["g" * 5000])).text.splitlines()
    assert [len(line.partition(": ")[2]) for line in long[:4]] == [403, 603, 303, 303]


def test_of_several_replies_the_mean_counts_and_the_worst_is_told() -> None:
    feedback = told("Paris", "Rome")
    assert (feedback.score, feedback.metrics["spread"]) == (0.5, 0.5)
    assert "Reply: Rome" in feedback.text
    assert "spread" not in told("Rome").metrics


@pytest.mark.parametrize(
    ("evidence", "support", "words"),
    [
        ("Of the seine: a river.", ("The Seine", "France"), "`find_evidence` left out the paragraph `The Seine` and `France`."),
        ("Of the Seine in France.", ("Seine", "France"), "The evidence names every supporting paragraph."),
        ("France", ("Seine", "France"), "`find_evidence` left out the paragraph `Seine`."),
        ("Francesca", ("France",), "`find_evidence` left out the paragraph `France`."),
        ("any", (), ""),
    ],
)  # fmt: skip
def test_evidence_is_told_which_paragraph_it_lacks(evidence: str, support: tuple[str, ...], words: str) -> None:
    case = Case(question="Which town?", gold=["Paris"], support=support)
    text = told({"text": "Rome", "evidence": evidence}, case=case).text
    if "The Seine" in support:
        assert "left out" in text
    else:
        assert text.endswith(words or "0.00. " + text.rpartition("0.00. ")[2])
        assert ("evidence" in text) is bool(words)
    assert "evidence" not in told("Rome").text


@pytest.mark.parametrize(
    ("said", "worth"),
    [
        (("Yes, it does.",), 1.0), (("no",), 0.0), ((" **No**",), 0.0), (("**Yes**",), 1.0), (("YES",), 1.0),
        (("Yesterday",), None), (("It does: yes",), None), (("yes", "no"), 0.5), (("yes", "perhaps"), None),
    ],
)  # fmt: skip
def test_a_judge_says_yes_or_no_of_each_answer_or_there_is_no_metric(
    said: tuple[str, ...], worth: float | None
) -> None:
    feedback = told(*["Rome"] * len(said), said=said, judge=True)
    assert feedback.metrics.get("judge") == worth
    assert feedback.score == 0, "it changes no score"


def test_a_judge_is_shown_question_gold_and_answer() -> None:
    context = Saying("yes")
    guide = QAGuide(find_family("hfqa"), seconds=1.0, judge=True)
    guide(PARIS.example("e"), {"replies": [{"text": "Rome"}]}, context)  # type: ignore[arg-type]
    (prompt,) = context.prompts
    assert [part for part in ("Which town?", "Paris", "Rome") if part not in prompt] == []
    assert prompt.endswith("Reply with yes or no.")


def test_content_is_the_mean_over_replies() -> None:
    assert told("Paris", "Rome", oracle=True).metrics["content"] == 0.5


def test_a_text_that_just_fits_is_not_cut() -> None:
    assert cut("abcd", 4) == "abcd"
    assert cut("abcde", 4) == "ab … de"


def test_a_grader_that_gives_no_grade_leaves_it_unmeasured() -> None:
    case = Case(question="When?", gold="1989")
    guide = QAGuide(find_family("simpleqa"), seconds=1.0)
    with pytest.raises(NotMeasured, match="the judge gave no grade, but 'Who knows"):
        guide(case.example("e"), {"replies": [{"text": "in the year before 1990"}]}, Saying("Who knows" + "?" * 900))  # type: ignore[arg-type]


@pytest.mark.parametrize(("weight", "cost"), [(0.001, 0.2), (0.0, 0.0), (0.1, 1.0)])
def test_tokens_cost_what_they_weigh_and_one_point_at_most(weight: float, cost: float) -> None:
    guide = TokenGuide(find_family("hfqa"), seconds=1.0, weight=weight)
    replies = [{"text": "Paris", "tokens": 100}, {"text": "Paris", "tokens": 300}]
    feedback = guide(PARIS.example("e"), {"replies": replies}, Saying())  # type: ignore[arg-type]
    assert feedback.score == pytest.approx(1 - cost)
    assert {name: feedback.metrics[name] for name in ("accuracy", "error", "tokens")} == {
        "accuracy": 1, "error": 0, "tokens": 200,
    }  # fmt: skip
    assert feedback.text == "Right.\nTokens of this row: 200."


def test_a_judge_is_asked_beside_tokens_too() -> None:
    guide = TokenGuide(find_family("hfqa"), seconds=1.0, weight=0.0, judge=True)
    feedback = guide(PARIS.example("e"), {"replies": [{"text": "Rome", "tokens": 1}]}, Saying("yes"))  # type: ignore[arg-type]
    assert (feedback.score, feedback.metrics["judge"]) == (0, 1)
    assert build_with_tokens("gsm8k", None, judge=True).guide._judge  # type: ignore[attr-defined]


def test_a_program_that_cannot_answer_what_a_task_asks_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"`hf:mbpp` asks for programs; `program: instructions` cannot write one"
    ) as error:
        build("mbpp", None, program="instructions")
    assert error.value.hint == "leave `program` out"


def test_sizes_are_the_entrys_or_those_of_the_options() -> None:
    own = sizes_of("gsm8k", None, {})
    assert own.train >= 1
    wanted = sizes_of("gsm8k", None, {"num_train": 3, "num_validate": 0, "num_test": 2})
    assert (wanted.train, wanted.validation, wanted.test) == (3, 0, 2)
    other = sizes_with_tokens("gsm8k", None, {"n_train": 4, "n_val": 1})
    assert (other.train, other.validation, other.test) == (4, 1, own.test)


def test_a_model_of_a_task_would_not_be_metered() -> None:
    with pytest.raises(ConfigError, match=r"`eval_kwargs\.model` is not taken: models are named under `llm`") as error:
        build_with_tokens("gsm8k", None, model="gpt")
    assert error.value.hint == "-o llm.model=<name>"
