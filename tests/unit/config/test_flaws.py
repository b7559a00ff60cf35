"""A flawed config: everything that is wrong with it at once, the command that shows it mended, and what is sound of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import ConfigError, UsageError
from tracebench_engine.config.load import FlawedConfigError, load_config, load_prices, place_of, sound_part
from tracebench_engine.config.overrides import apply, parse_override
from tracebench_engine.config.placing import placing
from tracebench_engine.config.problems import HINT
from tracebench_engine.config.shape import is_list, is_model, kind_at, names_at

FLAWS: list[tuple[Any, ...]] = [
    ("mode: sutb\nseeds: 3\n", [], (["1: `mode` must be one of `stub`, `real`, `replay`, not text `sutb`. Did you mean `stub`?",
        "2: `seeds` must be a list, not `3`. `seeds: 1..3` is 3 seeds, and `seeds: [3]` is the seed 3 alone."],
        "trace-bench config show F -o mode=stub -o seeds=1..3", {})),
    ("tasks: [a:b]\ntrainers: [{id: X, params: {eval_kwargs: {n: 1}, optimizer_kwargs: 3}}]\n", [],
        (["2: `trainers[0].params.eval_kwargs` belongs to tasks: all trainers are evaluated alike. Move it to `",
        "2: `trainers[0].params.optimizer_kwargs` must be a mapping, not `3`."], "", {"tasks": [{"id": "a:b"}], "trainers": [{"id":
        ""}]})),
    ("tasks: [a:b, {x: 1}]\n", [], (["1: `tasks[1].id` is missing.",
        "1: `tasks[1].x` is not a known field. Options of a task are written `eval_kwargs: {x: 1}`."], "", {"tasks": [{"id": "a:b"},
        {"id": ""}]})),
    ("seeds: [1]\n", ["mode=sutb"],
        (["`-o mode=sutb`: `mode` must be one of `stub`, `real`, `replay`, not text `sutb`. Did you mean `stub`"], "", {"seeds": [1]})),
    ("tasks: [a:b, {id: a:b, eval_kwargs: {}}]\n", [], (["1: `tasks[1]` is the same as `tasks[0]`."], "", {"tasks": [{"id": "a:b"},
        {"id": ""}]})),
    ("llm_variants: [a, a]\n", [], (["1: `llm_variants[1]` is the same as `llm_variants[0]`."], "", {})),
    ("run_id: 1e3\n", [], (["1: `run_id` must be text, not `1000.0`. `run_id: \"1e3\"` is the text; without quotes it is the number"],
        "trace-bench config show F -o 'run_id=\"1e3\"'", {})),
    ("run_id: 10\n", [], (["1: `run_id` must be text, not `10`. Write `run_id: \"10\"`."],
        "trace-bench config show F -o 'run_id=\"10\"'", {})),
    ("llm: {prices: {m: {promt: 1}}}\n", [], (["1: `llm.prices.m.prompt` is missing.", "1: `llm.prices.m.completion` is missing.",
        "1: `llm.prices.m.promt` is not a known field. Did you mean `prompt`?"], "", {})),
    ("fail_fast: 3\n", [], (["1: `fail_fast` must be `true` or `false`, not `3`."], "", {})),
    ("seeds: [x, y]", [], (["1: `seeds[0]` must be a whole number, not text `x`. Seeds are written `[1, 2, 3]` or `1..3`.",
        "1: `seeds[1]` must be a whole number, not text `y`. Seeds are written `[1, 2, 3]` or `1..3`."], "", {})),
    ("seed: [1, 2]", [], (["1: `seed` must be a whole number, not a list. Several are written `seeds: [1, 2]`."], "", {})),
    ("llm: {base_url: api_key=x}", [],
        (["1: `llm.base_url` holds what looks like a secret key, and configs are published. Set it as a variabl"], "", {})),
    ("scoring_timeout: -1\nmax_workers: 'lots'", [], (["1: `scoring_timeout` must be 0 or more, not `-1`.",
        "2: `max_workers` must be a whole number, not text `lots`."], "", {})),
    ("budget: {usd: -1}", [], (["1: `budget.usd` must be 0 or more, not `-1`."], "", {})),
]  # fmt: skip
SOUND: list[tuple[Any, ...]] = [
    ({"mode": "stub", "seeds": [1]}, [("mode",)], {"seeds": [1]}),
    ({"tasks": [{"id": "a:b"}, {"x": 1}], "trainers": [{"id": "X"}]}, [("tasks", 1, "id")], {"tasks": [{"id": "a:b"}, {"id": ""}],
        "trainers": [{"id": "X"}]}),
    ({"tasks": "x"}, [("tasks",)], {"tasks": [{"id": ""}]}),
    ({"llm": {"modle": 1, "model": "m"}}, [("llm", "modle")], {"llm": {"model": "m"}}), ({"seeds": ["x"]}, [], {}),
    ({"mode": "zzz", "seeds": ["x"], "max_workers": -1, "budget": {"usd": -1}, "llm": 3}, [], {}),
    ({"tasks": [{"id": "a:b"}]}, [("tasks", 5)], {"tasks": [{"id": ""}]}),
    ({"trainers": [{"id": "X", "params_variants": [{"a": 1}]}]}, [("trainers", 0, "params_variants", 0)], {"trainers": [{"id": "X"}]}),
]  # fmt: skip
OVERRIDES: list[tuple[Any, ...]] = [
    ("model=m", (("llm", "model"), "m")), ("api-base=u", (("llm", "base_url"), "u")), ("llm.api_base=u", (("llm", "base_url"), "u")),
    ("threads=3", (("trainer_kwargs", "threads"), 3)), ("foo_bar_baz=3", (("trainer_kwargs", "foo_bar_baz"), 3)),
    ("trainers[0].params.a=1", (("trainers", 0, "params_variants", 0, "a"), 1)),
    ("trainers[0].params={a: 1}", (("trainers", 0, "params_variants"), [{"a": 1}])), ("seed=3", (("seeds",), [3])),
    ("trainers.x=1", ("`trainers` is a list: name its item, as in `trainers[0]`.", "")),
    ("tasks[0].zzz=1", ("`tasks[0].zzz` is not a known field.", "")), ("a=[1", ("the value is not valid YAML.", "-o a='\"text\"'")),
    ("a=.nan", ("the value is nan: numbers in a config are finite.", "")),
    ("x", ("an override is written `key=value`.", "-o seeds=[1,2,3]")),
    ("=1", ("an override is written `key=value`.", "-o seeds=[1,2,3]")), ("a b=1", ("`a b` is not the name of a field.", "")),
    ("llm.prices[a b].prompt=1", (("llm", "prices", "a b", "prompt"), 1)),
    ("llm.roles.judge.api_base=u", (("llm", "roles", "judge", "base_url"), "u")), ("models=[a]", (("llm_variants",), ["a"])),
    ("budgt=1", ("`budgt` is not a known field. Did you mean `budget`?", "")),
]  # fmt: skip
APPLIED: list[tuple[Any, ...]] = [
    ({"seeds": [1, 2]}, "seeds[2]=3", {"seeds": [1, 2, 3]}), ({"seeds": [1, 2]}, "seeds[3]=3", "`seeds` has 2 items, counted from 0."),
    ({"seeds": [1]}, "seeds[2]=3", "`seeds` has 1 item, counted from 0."), ({"seeds": [1, 2, 3]}, "seeds[1]=9", {"seeds": [1, 9, 3]}),
    ({"seeds": 3}, "seeds[0]=9", {"seeds": [9]}), ({}, "llm.model=m", {"llm": {"model": "m"}}),
    ({"llm": 3}, "llm.model=m", {"llm": {"model": "m"}}), ({"llm": {"a": 1}}, "llm.model=m", {"llm": {"a": 1, "model": "m"}}),
]  # fmt: skip
PLACED: list[tuple[Any, ...]] = [
    ("mode: stub\nseeds: [1]\n", [("is bad", ("seeds",))], [], "F, line 2: `seeds`: is bad"),
    ("mode: stub\n", [("plain", ())], [], "plain"),
    ("mode: stub\ntasks:\n- a:b\n", [("`tasks[0]` is bad", ("tasks", 0)), ("other", ())], [], "F, line 3: `tasks[0]` is bad\nother"),
    ("seed: 1\ntasks: [a]\n", [("x", ("seeds", 0)), ("y", ("tasks", 0)), ("z", ("zzz",))], [],
        "F, line 1: `seed`: x\nF, line 2: `tasks[0]`: y\nF, line 1: `zzz`: z\n… and 3 more."),
    ("seed: 1", [("x", ("mode",))], ["mode=stub"], "`-o mode=stub`: `mode`: x"),
]  # fmt: skip


def told(err: Exception, path: Path) -> str:
    return str(err).replace(f"`{path}`", "F")


@pytest.mark.parametrize(("text", "overrides", "flaw"), FLAWS)
def test_all_flaws_are_told_with_what_mends_them_and_what_is_sound(
    tmp_path: Path, text: str, overrides: list[str], flaw: Any
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(FlawedConfigError) as caught:
        load_config(path, overrides=overrides)
    hint = "" if caught.value.hint == HINT else (caught.value.hint or "").replace(str(path), "F")
    sound = caught.value.sound
    lines = [line[:100] for line in str(caught.value).replace(f"`{path}`, line ", "").splitlines()]
    assert (lines, hint, sound and sound.model_dump(mode="json", exclude_defaults=True)) == flaw


@pytest.mark.parametrize(("data", "wrong", "left"), SOUND)
def test_what_is_sound_is_left_and_a_task_or_trainer_that_is_not_keeps_its_place(
    data: Any, wrong: Any, left: Any
) -> None:
    sound = sound_part(data, wrong)
    assert sound is not None
    assert sound.model_dump(mode="json", exclude_defaults=True) == left


def test_an_error_about_the_whole_is_placed_at_the_field_that_it_names() -> None:
    assert place_of({"loc": ("a", 0), "msg": "x"}) == ("a", 0)
    assert place_of({"loc": (), "msg": "so `seeds` is bad, not `mode`"}) == ("seeds",)
    assert place_of({"loc": (), "msg": "`zzz` is bad"}) == place_of({"loc": (), "msg": "bad"}) == ()


@pytest.mark.parametrize(
    ("text", "prices"),
    [
        ("m: {prompt: 1, completion: 2}", {"m": {"prompt": 1.0, "completion": 2.0, "cached": None, "written": None}}),
        ("m: 3", "F, line 1: `m` must be a mapping, not `3`."),
        (
            "m: {prompt: 1, completion: 2, cahced: 3}\nn: {prompt: x}",
            (
                "F, line 1: `m.cahced` is not a known field. Did you mean `cached`?\nF, line 2: `n.prompt` must be a number, "
                "not text `x`.\nF, line 2: `n.completion` is missing."
            ),
        ),
    ],
)
def test_prices_are_read_from_a_file_or_told_field_by_field(tmp_path: Path, text: str, prices: Any) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    try:
        found: Any = {model: price.model_dump() for model, price in load_prices(path).items()}
    except ConfigError as err:
        found = told(err, path)
    assert found == prices


@pytest.mark.parametrize(("text", "read_as"), OVERRIDES)
def test_an_override_goes_where_the_canonical_field_is_or_says_why_not(text: str, read_as: Any) -> None:
    try:
        override = parse_override(text)
        found: Any = (override.loc, override.value)
    except ConfigError as err:
        found = (str(err).replace(f"`-o {text}`: ", ""), "" if err.hint == HINT else err.hint)
    assert found == read_as


@pytest.mark.parametrize(("data", "text", "changed"), APPLIED)
def test_an_override_replaces_one_field_and_may_add_the_next_item_of_a_list(data: Any, text: str, changed: Any) -> None:
    try:
        found: Any = apply(data, parse_override(text))
    except ConfigError as err:
        found = str(err).replace(f"`-o {text}`: ", "")
    assert found == changed


@pytest.mark.parametrize(("text", "mistakes", "words"), [(row[0], row[1], row[3]) for row in PLACED if not row[2]])
def test_mistakes_that_are_found_later_are_told_with_file_and_line(
    tmp_path: Path, text: str, mistakes: list[Any], words: str
) -> None:
    assert placed(tmp_path, text, mistakes) == words


def test_a_mistake_that_an_override_brought_in_is_told_by_it(tmp_path: Path) -> None:
    assert placed(tmp_path, "seed: 1", [("x", ("mode",))], "mode=stub") == "`-o mode=stub`: `mode`: x"


def placed(folder: Path, text: str, mistakes: list[Any], *overrides: str) -> str:
    path = folder / "c.yaml"
    path.write_text(text)
    parts = [UsageError(words, field=field) for words, field in mistakes]
    whole = UsageError("\n".join([*map(str, parts), *(["… and 3 more."] if len(parts) > 2 else [])]))
    whole.parts = tuple(parts)
    with pytest.raises(UsageError) as caught, placing(path, overrides=overrides):
        raise parts[0] if len(parts) == 1 else whole
    return told(caught.value, path)


def test_a_place_has_the_shape_that_its_model_declares() -> None:
    locs: list[tuple[str | int, ...]] = [
        ("seeds",), ("seeds", 0), ("seeds", "x"), ("llm", "roles", "zzz"), ("tasks", 0, "id"), ("zzz",), ("run_id",),
        ("llm", "prices", "m", "prompt"),
    ]  # fmt: skip
    assert [kind_at(loc) for loc in locs] == [tuple[int, ...], int, None, None, str, None, str, float]
    assert (kind_at(("eval_kwargs", "x", "y")), kind_at(("trainers", 0, "sweep", "a", 0)) is None) == (Any, False)
    assert names_at(("tasks", 0)) == ("id", "eval_kwargs", "initial")
    assert names_at(("llm", "roles"))[:2] == ("optimizer", "agent")
    assert names_at(("trainers", 0, "sweep", "a"))[:2] == ("low", "high")
    assert names_at(("tasks",)) == names_at(("eval_kwargs",)) == ()
    assert [is_model(loc) for loc in [("budget",), ("tasks", 0), ("llm", "roles"), ("tasks",)]] == [
        True,
        True,
        False,
        False,
    ]
    assert [is_list(loc) for loc in [("tasks",), ("seeds",), ("budget",), ("eval_kwargs",)]] == [
        True,
        True,
        False,
        False,
    ]
