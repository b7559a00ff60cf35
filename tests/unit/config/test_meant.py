"""What was meant by a value of a wrong type, or by a field of another name: the text that works, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_engine.config.document import value
from tracebench_engine.config.instead import of_models, place_instead, value_instead
from tracebench_engine.config.load import parse_config
from tracebench_engine.config.meant import elsewhere, entry, meant, within

SEEDS: list[tuple[Any, ...]] = [
    (3, "1..3"), (1, "[1]"), (0, "[0]"), (30, "1..30"), (31, "[31]"), ("x3", "1..3"), ("x 3 seeds", "1..3"), ("3 Seed", "1..3"),
    ("-5", "[-5]"), ("1-3", "1..3"), ("1 to 3", "1..3"), ("1..3", "1..3"), ("2-2", "2..2"), ("3-1", None), ("-3:-1", "-3..-1"),
    ("1\u20133", "1..3"), ("range(3)", "0..2"), ("range(2, 5)", "2..4"), ("range(5, 5)", None), ("range(4,5)", "4..4"),
    ("range(0)", None), ("1, 2;3", "[1, 2, 3]"), ("1 2", "[1, 2]"), ("1,a", None), ("", None), (True, None), (1.5, None), ([1], None),
]  # fmt: skip
BUDGETS: list[tuple[Any, ...]] = [
    (50, "{evaluations: 50}"), (2.5, "{usd: 2.5}"), (0, "{evaluations: 0}"), (-1, None), (1000000000000000, None),
    (999999999999999, "{evaluations: 999999999999999}"), (True, None), ("$5", "{usd: 5}"), ("5$", "{usd: 5}"), ("5 usd", "{usd: 5}"),
    ("50ct", "{usd: 0.5}"), ("5m", "{seconds: 300}"), ("1.5h", "{seconds: 5400}"), ("100ms", "{seconds: 0.1}"),
    ("2d", "{seconds: 172800}"), ("5M", "{tokens: 5000000}"), ("10k", "{evaluations: 10000}"), ("2 mio", "{evaluations: 2000000}"),
    ("3 llm calls", None), ("2k tokens", "{tokens: 2000}"), ("5 apples", None), ("100 evals", "{evaluations: 100}"),
    ("7 steps", "{evaluations: 7}"), ("4 requests", "{llm_calls: 4}"), ("9 seconds", "{seconds: 9}"), ("5 m", "{seconds: 300}"),
    ("lots", None), ("", None), ("%", None), ("5%", None), ("1_000", "{evaluations: 1000}"), ("1,5", "{usd: 1.5}"),
    ("0,5", "{usd: 0.5}"), ("1,000 tokens", "{tokens: 1000}"), ("3tokens", "{tokens: 3}"), ("3calls", "{llm_calls: 3}"),
    ("0.5", "{usd: 0.5}"), ("1.5k", "{evaluations: 1500}"), ("1.5 tokens", None), ("2.5m", "{seconds: 150}"),
    ("999999999999999", "{evaluations: 999999999999999}"), ("9999999999999999", None), ("1000000000000000", None),
]  # fmt: skip
FIELDS: list[tuple[Any, ...]] = [
    (("budget",), [3], None), (("budget",), [{"usd": 1}, {"tokens": 2}], "{usd: 1, tokens: 2}"),
    (("llm",), [{"model": "a"}], "{model: a}"), (("llm",), [{"model": "a"}, 3], None), (("llm",), [], None),
    (("tags",), [{"a": 1}], None), (("tasks",), "a:b, c:d", "[a:b, c:d]"), (("tasks",), "[a:b]", "[a:b]"),
    (("tasks",), "- a:b -c:d", "[a:b, c:d]"), (("tasks",), "", None), (("tasks",), {"id": "a:b"}, "[{id: a:b}]"),
    (("tasks",), {"internal": "code_param"}, "[internal:code_param]"), (("tasks",), 3, None), (("trainers",), "X", "[X]"),
    (("trainers",), "X Y", "[\"X Y\"]"), (("trainers",), {"X": {"n": 1}}, "[{id: X, n: 1}]"), (("trainers",), {"X": None}, "[{id: X}]"),
    (("trainers",), {"X": 3}, "[{X: 3}]"), (("trainers", 0, "params_variants"), {"a": 1}, "[{a: 1}]"),
    (("trainers", 0, "params_variants"), "many", None), (("tags",), "a,b", "[a, b]"), (("tags",), ["a"], None),
    (("mode",), "sutb", "stub"), (("mode",), "zzz", None), (("mode",), 3, None), (("run_id",), 5, "\"5\""),
    (("run_id",), 5.5, "\"5.5\""), (("run_id",), True, None), (("fail_fast",), "Yes", "true"), (("fail_fast",), "off", "false"),
    (("fail_fast",), 1, "true"), (("fail_fast",), 0.0, "false"), (("fail_fast",), 1.0, "true"), (("fail_fast",), " true ", "true"),
    (("fail_fast",), "maybe", None), (("fail_fast",), [True], None), (("max_workers",), 3.0, "3"), (("max_workers",), 3.5, None),
    (("max_workers",), "3", "3"), (("max_workers",), "3.5", None), (("max_workers",), "2k", "2000"), (("max_workers",), "2M", "2000000"),
    (("max_workers",), "1b", "1000000000"), (("max_workers",), "2 cores", None), (("max_workers",), "5m", "5000000"),
    (("job_timeout",), "5m", "300"), (("job_timeout",), "90", "90"), (("job_timeout",), "2 hr", "7200"),
    (("job_timeout",), "5 parsecs", None), (("job_timeout",), "$5", None), (("job_timeout",), "1e3", None),
    (("job_timeout",), "0.1ms", "0.0001"), (("sandbox", "memory_mb"), "4GB", "4096"), (("sandbox", "memory_mb"), "512M", "512"),
    (("sandbox", "memory_mb"), "2048kb", "2"), (("sandbox", "memory_mb"), "1 TiB", None), (("budget", "usd"), "$5", "5"),
    (("budget", "usd"), "50 cents", "0.5"), (("budget", "usd"), "5 eur", None), (("budget", "seconds"), "5 min", "300"),
    (("budget", "tokens"), "2M", "2000000"), (("budget", "tokens"), "1.5", None), (("budget", "usd"), "1,50", "1.5"),
    (("budget", "usd"), "1,500", "1500"), (("budget", "usd"), "0,500", "0.5"), (("budget", "usd"), ".5", "0.5"),
    (("budget", "usd"), ".", None), (("llm", "model"), 5, "\"5\""), (("llm", "temperature"), "0,7", "0.7"),
    (("llm", "roles", "judge"), "gpt", None), ((), 3, None), (("nope",), 3, None), (("retries",), 3, None),
    (("eval_kwargs",), "x", None), (("eval_kwargs",), [{"a": 1}], "{a: 1}"), (("tasks",), "- a:b - c:d", "[a:b, c:d]"),
]  # fmt: skip
ELSEWHERE: list[tuple[Any, ...]] = [
    ("Max-Evals ", 50, " It is written `budget: {evaluations: 50}`."),
    ("steps", "10k", " It is written `budget: {evaluations: 10000}`."), ("usd", "$5", " It is written `budget: {usd: 5}`."),
    ("usd", 0.5, " It is written `budget: {usd: 0.5}`."), ("evals", 2.5, " It is written `budget: {evaluations: …}`."),
    ("evals", -1, " It is written `budget: {evaluations: …}`."), ("evals", 0, " It is written `budget: {evaluations: 0}`."),
    ("evals", True, " It is written `budget: {evaluations: …}`."), ("evals", "lots", " It is written `budget: {evaluations: …}`."),
    ("evals", 1000000000000000, " It is written `budget: {evaluations: …}`."),
    ("tokens", 999999999999999, " It is written `budget: {tokens: 999999999999999}`."),
    ("time_limit", "5m", " It is written `budget: {seconds: 300}`."), ("seconds", 1.5, " It is written `budget: {seconds: 1.5}`."),
    ("repeats", 3, " It is written `seeds: 1..3`."), ("repeats", 0, " It is written `seeds: 1..5`."),
    ("repeats", "x", " It is written `seeds: 1..5`."), ("optimizer", "OPRO", " It is written `trainers: [{id: …, optimizer: OPRO}]`."),
    ("optimizer", 3, ""), ("guide", "a b", " It is written `trainers: [{id: …, guide: \"a b\"}]`."),
    ("logger", "off", " It is written `trainers: [{id: …, logger: \"off\"}]`."), ("workers", 4, " It is written `max_workers: 4`."),
    ("workers", 0, " It is written `max_workers: …`."), ("workers", 1, " It is written `max_workers: 1`."),
    ("workers", "2", " It is written `max_workers: 2`."), ("workers", "2.5", " It is written `max_workers: …`."),
    ("workers", True, " It is written `max_workers: …`."), ("workers", "auto", " It is written `max_workers: …`."), ("workers", 2.0, ""),
    ("timeout", "5m", " It is written `job_timeout: 300`."), ("timeout", 0, " It is written `job_timeout: 0`."),
    ("timeout", "0", " It is written `job_timeout: 0`."), ("timeout", -1, " It is written `job_timeout: …`."),
    ("timeout", True, " It is written `job_timeout: …`."), ("timeout", "soon", " It is written `job_timeout: …`."),
    ("name", "my-run", " It is written `run_id: my-run`."), ("name", "my run", " It is written `run_id: …`."),
    ("name", 5, " It is written `run_id: \"5\"`."), ("output", "out", " It is written `runs_dir: out`."),
    ("output", "my dir", " It is written `runs_dir: \"my dir\"`."), ("methods", ["A", "B"], " It is written `trainers: [A, B]`."),
    ("methods", "A, B", " It is written `trainers: [A, B]`."), ("method", 3, ""),
    ("suite", "internal:code_param", " It is written `tasks: [internal:code_param]`."),
    ("dataset", ["a b"], " It is written `tasks: [\"a b\"]`."),
    ("temperature", 0.5, " Of models it is written `llm: {temperature: 0.5}`."),
    ("max_tokens", 20, " Of models it is written `llm: {max_tokens: 20}`."),
    ("cache", True, " Of models it is written `llm: {cache: run}`."), ("zzz", 1, ""),
    ("record", False, " Of models it is written `llm: {record: false}`."),
    ("base_url", "localhost:8000", " Of models it is written `llm: {base_url: http://localhost:8000}`."),
    ("model", "a b", " Of models it is written `llm: {model: …}`."),
]  # fmt: skip
WITHIN: list[tuple[Any, ...]] = [
    (("budget", "dollars"), "$5", " It is written `usd: 5`."), (("budget", "money"), 3, " It is written `usd: 3`."),
    (("budget", "minutes"), 5, " It is written `seconds: 300`."), (("budget", "hours"), 2, " It is written `seconds: 7200`."),
    (("budget", "minutes"), "5", " It is written `seconds: 300`."), (("budget", "minutes"), 1.5, " It is written `seconds: 90`."),
    (("budget", "time"), "1h", " It is written `seconds: 3600`."), (("budget", "usd"), 3, ""), (("budget", "zzz"), 3, ""),
    (("budget", "Max-Calls"), 2, " It is written `llm_calls: 2`."), (("llm", "name"), "gpt-4o", " It is written `model: gpt-4o`."),
    (("llm", "temp"), 0.2, " It is written `temperature: 0.2`."), (("llm", "temp"), [1], " It is written `temperature: …`."),
    (("llm", "url"), "http://x", " It is written `base_url: http://x`."), (("sandbox", "x"), 1, ""), (("a", "b", "c"), 1, ""),
    (("budget",), 1, ""),
    (("tasks", 0, "seeds"), [1], " It holds for all tasks and stands at the top of the config. Write `seeds: [1]`."),
    (("trainers", 0, "max_evals"), 9,
        " It holds for all trainers and stands at the top of the config. It is written `budget: {evaluations: 9}`."),
    (("trainers", 0, "zzz"), 9, ""), (("tasks", 0, "target"), 3, " Options of a task are written `eval_kwargs: {target: 3}`."),
    (("tasks", 0, "options"), {"n": 3}, " Options of a task are written `eval_kwargs: {n: 3}`."),
    (("tasks", 0, "options"), 3, " Options of a task are written `eval_kwargs: {options: 3}`."), (("tasks", 0, "evalkwargs"), {}, ""),
    (("tasks", 0, "usd"), "x", " It holds for all tasks and stands at the top of the config. It is written `budget: {usd: …}`."),
    (("budget", "minutes"), "1.5", " It is written `seconds: 90`."), (("budget", "minutes"), "5m", " It is written `seconds: 300`."),
    (("budget", "minutes"), True, " It is written `seconds: …`."), (("budget", "minutes"), "x", " It is written `seconds: …`."),
    (("budget", "minutes"), [1], " It is written `seconds: …`."), (("budget", "minutes"), "nan", " It is written `seconds: …`."),
    (("budget", "minutes"), 10**400, " It is written `seconds: …`."), (("budget", "hours"), -(10**400), " It is written `seconds: …`."),
    (("budget", "minutes"), 0, " It is written `seconds: 0`."),
]  # fmt: skip
ENTRIES: list[tuple[Any, ...]] = [
    (("tasks", 0), {"a": "b"}, "a:b"), (("tasks", 0), {"a": "b", "c": "d"}, None), (("tasks", 0), "a", None),
    (("tasks", 0), {"a:b": {"n": 1}}, "{id: a:b, eval_kwargs: {n: 1}}"),
    (("tasks", 0), {"a:b": {"eval_kwargs": {"n": 1}}}, "{id: a:b, eval_kwargs: {n: 1}}"), (("tasks", 0), {"a": {"n": 1}}, None),
    (("tasks", 0), {"id": "a"}, None), (("tasks", 0), {"a": {"id": "b"}}, None), (("trainers", 0), {"X": {"n": 1}}, "{id: X, n: 1}"),
    (("trainers", 0), {"X": None}, "{id: X}"), (("trainers", 0), {"X": 3}, None),
    (("trainers", 0), {"params_variants": [{"X": None}]}, "{id: X}"), (("trainers", 0), {"params_variants": [{"X": None}, {}]}, None),
    (("trainers", 0), {"params_variants": {}}, None), (("llm_variants", 0), {"X": {"a": 1}}, None), (("trainers", 0), {}, None),
]  # fmt: skip
VALUES: list[tuple[Any, ...]] = [
    (("mode",), "live", "real"), (("mode",), " LIVE ", "real"), (("mode",), "Mock", "stub"), (("mode",), "cassette", "replay"),
    (("mode",), "zzz", None), (("mode",), 0, None), (("mode",), [1], None), (("resume",), True, "auto"), (("resume",), "no", "none"),
    (("resume",), 0, "none"), (("resume",), 1, "auto"), (("resume",), "force", "none"), (("resume",), "retry", "failed"),
    (("share",), False, "private"), (("share",), "public", "world"), (("share",), 1, "world"), (("llm", "cache"), True, "run"),
    (("llm", "cache"), "never", "off"), (("llm", "cache"), "global", "shared"), (("sandbox", "require"), "none", "process"),
    (("sandbox", "require"), "on", "auto"), (("sandbox", "require"), "landlock", "strong"), (("sandbox",), False, "{require: process}"),
    (("sandbox",), "process", "{require: process}"), (("sandbox",), "strong", "{require: strong}"),
    (("sandbox",), "on", "{require: auto}"), (("sandbox",), "auto", "{require: auto}"), (("sandbox",), "docker", "{require: auto}"),
    (("sandbox",), "oci", "{require: auto}"), (("sandbox",), "zzz", None), (("sandbox",), "", None), (("sandbox",), [1], None),
    (("sandbox",), 0, "{require: process}"), (("sandbox",), 1, "{require: auto}"), (("retries",), 3, "{failed: 3}"),
    (("retries",), 0, "{failed: 0}"), (("retries",), -1, None), (("retries",), True, None), (("retries",), "3", None),
    (("llm", "base_url"), "127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"), (("llm", "base_url"), "localhost", "http://localhost"),
    (("llm", "base_url"), "localhost:80", "http://localhost:80"), (("llm", "base_url"), "api.example.com", "https://api.example.com"),
    (("llm", "base_url"), "noperiod", "https://noperiod"), (("llm", "base_url"), "a b.c", None), (("llm", "base_url"), 3, None),
    (("llm", "base_url"), "http://x", None), (("llm", "base_url"), "127x", "https://127x"), (("run_id",), "my run/1", "my-run-1"),
    (("run_id",), "--x..", "x"), (("run_id",), "../x", "x"), (("run_id",), "///", None), (("run_id",), 3, None), (("zzz",), 3, None),
]  # fmt: skip
PLACES: list[tuple[Any, ...]] = [
    (("llm", "model"), ["a", "b"], " Several models are an axis beside `llm`: `llm_variants: [a, b]`."),
    (("llm", "models"), ["a", 3], ""), (("llm", "model"), "a", ""), (("llm", "judge"), {}, " It is written `roles: {judge: {…}}`."),
    (("llm", "judge"), "x", ""), (("llm", "key"), "$OPENAI_API_KEY", " It is written `api_key_env: OPENAI_API_KEY`."),
    (("llm", "key_env"), "${MY_KEY}", " It is written `api_key_env: MY_KEY`."),
    (("llm", "key"), "hunter2", " It is written `api_key_env: NAME`."), (("llm", "key"), "KEY", " It is written `api_key_env: NAME`."),
    (("llm", "key"), 3, " It is written `api_key_env: NAME`."), (("llm", "zzz"), 3, ""), (("llm", "roles", "key"), 3, ""),
    (("budget", "key"), 3, ""),
]  # fmt: skip
MODELS: list[tuple[Any, ...]] = [
    ("temperature", 0.5, " Of models it is written `llm: {temperature: 0.5}`."),
    ("cache", "on", " Of models it is written `llm: {cache: run}`."),
    ("record", True, " Of models it is written `llm: {record: true}`."),
    ("model", "gpt-4o", " Of models it is written `llm: {model: gpt-4o}`."),
    ("model", "a b", " Of models it is written `llm: {model: …}`."), ("zzz", 1, ""),
    ("max_tokens", True, " Of models it is written `llm: {max_tokens: true}`."),
]  # fmt: skip


def text_of(found: Any) -> str | None:
    return None if found is None else found.text


@pytest.mark.parametrize(("given", "text"), SEEDS)
def test_seeds_that_are_no_list_are_the_list_that_was_meant(given: Any, text: str | None) -> None:
    assert text_of(meant(("seeds",), given)) == text
    if text is not None:
        assert parse_config({}, overrides=[f"seeds={text}"]).seeds


def test_a_count_of_seeds_is_told_from_a_seed() -> None:
    found = meant(("seeds",), 30)
    assert found is not None
    assert found.words == "is 30 seeds, and `seeds: [30]` is the seed 30 alone"


@pytest.mark.parametrize(("given", "text"), BUDGETS)
def test_a_lone_amount_is_a_budget_of_the_axis_that_its_unit_tells(given: Any, text: str | None) -> None:
    found = meant(("budget",), given)
    assert text_of(found) == text
    if found is not None:
        assert "`evaluations`, `llm_calls`, `tokens`, `usd`, `seconds`" in found.words
        assert parse_config({"budget": value(found.text)}).budget.caps()


@pytest.mark.parametrize(("loc", "given", "text"), FIELDS)
def test_a_value_of_a_wrong_type_is_written_as_its_field_takes_it(loc: Any, given: Any, text: str | None) -> None:
    assert text_of(meant(loc, given)) == text


def test_what_fits_into_a_line_is_shown_and_one_letter_more_is_not() -> None:
    fits = "a" * 198
    assert text_of(meant(("tags",), fits)) == f"[{fits}]"
    assert meant(("tags",), fits + "a") is None
    assert elsewhere("output", "a" * 190) == f" It is written `runs_dir: {'a' * 190}`."
    assert elsewhere("output", "a" * 191) == ""
    assert elsewhere("output", "a" * 201) == ""
    assert within(("llm", "id"), "a" * 193) == f" It is written `model: {'a' * 193}`."
    assert within(("llm", "id"), "a" * 194) == ""
    top = " It holds for all trainers and stands at the top of the config. Write "
    assert within(("trainers", 0, "run_id"), "a" * 192) == f"{top}`run_id: {'a' * 192}`."
    assert within(("trainers", 0, "run_id"), "a" * 193) == f"{top}`run_id: …`."
    options = " Options of a task are written "
    assert within(("tasks", 0, "target"), "a" * 177) == f"{options}`eval_kwargs: {{target: {'a' * 177}}}`."
    assert within(("tasks", 0, "target"), "a" * 178) == f"{options}`eval_kwargs: {{…}}`."
    several = " Several models are an axis beside `llm`: "
    assert place_instead(("llm", "models"), ["a" * 184]) == f"{several}`llm_variants: [{'a' * 184}]`."
    assert place_instead(("llm", "models"), ["a" * 185]) == ""


@pytest.mark.parametrize(("name", "given", "words"), ELSEWHERE)
def test_a_field_of_others_at_the_top_is_told_as_it_is_written_here(name: str, given: Any, words: str) -> None:
    assert elsewhere(name, given) == words


@pytest.mark.parametrize(("loc", "given", "words"), WITHIN)
def test_a_field_of_others_within_a_field_is_told_as_it_is_written_here(loc: Any, given: Any, words: str) -> None:
    assert within(loc, given) == words


@pytest.mark.parametrize(("loc", "given", "text"), ENTRIES)
def test_a_name_that_was_written_as_a_field_is_an_entry(loc: Any, given: Any, text: str | None) -> None:
    assert entry(loc, given) == text


@pytest.mark.parametrize(("loc", "given", "text"), VALUES)
def test_another_word_for_a_choice_is_the_choice_that_means_it(loc: Any, given: Any, text: str | None) -> None:
    assert text_of(value_instead(loc, given)) == text


@pytest.mark.parametrize(("loc", "given", "words"), PLACES)
def test_what_stands_at_another_place_is_told_its_own(loc: Any, given: Any, words: str) -> None:
    assert place_instead(loc, given) == words


@pytest.mark.parametrize(("name", "given", "words"), MODELS)
def test_a_field_of_models_outside_of_them_is_told_its_place(name: str, given: Any, words: str) -> None:
    assert of_models(name, given) == words
