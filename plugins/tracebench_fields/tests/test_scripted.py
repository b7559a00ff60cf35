"""The scripted model's parts, by what they give back: labels, draws, formats of prompts, shares of a name, and what commands print."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import UsageError
from tracebench_fields import command, formats, releases
from tracebench_fields.drawing import Drawing, draw, named_in
from tracebench_fields.model import LOST, Asked, Quality, Script, ScriptedModel, address, quality_of

ORDER = Drawing("order", "open", 0, "small", 0.0)


def test_a_label_names_its_drawing_and_the_last_one_counts() -> None:
    assert ORDER.label == "Field order/open/0/small/0:"
    other = Drawing("code", "v1.0-b_2", 12, "large", 0.25)
    assert other.label == "Field code/v1.0-b_2/12/large/0.25:"
    assert named_in(f"{ORDER.label} then {other.label} x") == other
    assert named_in(f"{other.label} {ORDER.label}") == ORDER
    assert named_in("Field order/open/0/small/0") is None
    assert named_in("Field nothing/open/0/small/0:") is None
    assert named_in("Field order/open/0/huge/0:") is None


def test_a_draw_comes_from_the_secret_the_label_and_the_purpose() -> None:
    assert releases.secret_of("open") == "3935d284f4a76e7bbe28d86cc60d456e5cd66f15eb4d1b4e86d28b15cd6f74fd"
    seen = {
        d.rng(purpose).random()
        for d in (ORDER, Drawing("order", "open", 1, "small", 0.0), Drawing("order", "open", 0, "medium", 0.0))
        for purpose in ("field", "train", "")
    }
    assert len(seen) == 9
    assert ORDER.rng("field").random() == ORDER.rng("field").random()
    assert draw(ORDER) is draw(Drawing("order", "open", 0, "small", 0.0))


@pytest.mark.parametrize(
    ("name", "quality"),
    [
        ("p35-h45-r5", Quality(0.35, 0.45, 0.05)),
        ("p0-h0-r0", Quality(0.0, 0.0, 0.0)),
        ("p100-h0-r0", Quality(1.0, 0.0, 0.0)),
        ("p33-h33-r34", Quality(0.33, 0.33, 0.34)),
        ("p70-h20-r10", Quality(0.7, 0.2, 0.1)),
    ],
)
def test_a_name_says_percentages(name: str, quality: Quality) -> None:
    assert quality_of(name) == quality


@pytest.mark.parametrize("name", ["", "p1-h1", "p1-h1-r1 ", "P1-h1-r1", "p1000-h0-r0", "p-h-r"])
def test_another_name_is_none(name: str) -> None:
    with pytest.raises(ValueError, match="percentages of better, worse and useless answers") as caught:
        quality_of(name)
    assert str(caught.value).startswith(f"`fields/{name}` is no scripted model: write `fields/p35-h45-r5`")


def test_more_than_100_percent_are_refused() -> None:
    for name in ("p101-h0-r0", "p50-h50-r1", "p0-h101-r0", "p0-h0-r101"):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared
            quality_of(name)
        assert str(caught.value) == f"the percentages of `fields/{name}` come to more than 100"
    with pytest.raises(NotMeasured) as refused:
        ScriptedModel(model="p50-h50-r1").open(None)  # type: ignore[arg-type]
    assert refused.value.retry is False
    assert address("p1-h1-r1", "http://127.0.0.1:1") == "http://127.0.0.1:1"


def test_answers_to_one_prompt_are_drawn_by_its_number_and_the_jobs_seed() -> None:
    def first(asked: Asked, prompt: str, **job: Any) -> float:
        return asked.rng(prompt, job).random()

    def drawn(seed: str) -> float:
        return random.Random(seed).random()

    digest = "cf07194ee232eb531e15f690000d19846dea69cf05504782658afcfacb9228a2"  # of `prompt`
    asked = Asked()
    assert [first(asked, "prompt") for _ in range(3)] == [drawn(f"{digest} {n}") for n in (1, 2, 3)]
    assert first(asked, "prompt", job="a", seed=3) == drawn(f"{digest} 1 3")
    assert first(asked, "prompt", job="b", seed=3) == drawn(f"{digest} 1 3")
    assert first(asked, "prompt", job="a", seed=3) == drawn(f"{digest} 2 3")
    assert first(asked, "prompt", job="c", seed=3, occurrence=4) == drawn(f"{digest} 5 3")
    assert first(asked, "prompt", job="d", seed=3, sampling="t1") == drawn(f"{digest} 1 3 t1")
    assert first(asked, "another") != first(Asked(), "prompt")


def chat(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def shouted(values: Any) -> dict[str, Any]:
    return {name: value.upper() if isinstance(value, str) else value for name, value in values.items()}


def said(text: str, names: list[str]) -> str | None:
    return formats.answer(chat(text), names, shouted, random.Random(1))


def test_a_prompt_of_our_own_is_answered_with_what_it_shows() -> None:
    shown = "<current_values>\n%s\n</current_values>\n"
    assert said(shown % '{"a": "x", "b": "y"}', ["a"]) == (
        '{"reasoning": "A rule, not a thought.", "values": {"a": "X"}}'
    )
    assert said(shown % '{"b": "y"}', ["a"]) == '{"reasoning": "A rule, not a thought.", "values": {}}'


def test_a_fence_is_answered_where_there_is_one_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_taught", tuple)
    assert said("so\n```text\nfirst\nline\n```\nand ```\nlast\n```", ["a"]) == "```\nFIRST\nLINE\n```"
    assert said("```\nfirst\n```", ["a", "b"]) is None
    assert said("```\nfirst\n```", []) is None
    assert said("nothing", ["a"]) is None


def test_a_taught_format_proposes_in_the_form_and_under_the_name_that_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[str, Any] = {}

    def silent(*_: Any) -> None:
        return None

    def taught(_messages: Any, _rng: Any, propose: Any) -> str:
        return json.dumps(propose(shown))

    monkeypatch.setattr(formats, "_taught", lambda: (silent, taught))

    def proposed(values: dict[str, Any], names: list[str]) -> Any:
        shown.clear()
        shown.update(values)
        met: list[Any] = []

        def change(these: Any) -> Any:
            met.append(dict(these))
            return shouted(these)

        text = formats.answer(chat("?"), names, change, random.Random(1))
        return (None if text is None else json.loads(text)), met

    assert proposed({"a": "x"}, ["a", "b"]) == ({"a": "X"}, [{"a": "x"}])
    assert proposed({"__a0": "x", "b_12": "y"}, ["a", "b"]) == ({"__a0": "X", "b_12": "Y"}, [{"a": "x", "b": "y"}])
    assert proposed({"other": "x"}, ["a"]) == ({"other": "X"}, [{"a": "x"}])
    assert proposed({"other": "x"}, ["a", "b"]) == (None, [])
    assert proposed({"other": "x", "more": "y"}, ["a"]) == (None, [])
    assert proposed({"a": "x", "other": "y"}, ["a", "b"]) == ({"a": "X"}, [{"a": "x"}])
    assert proposed({"a": ' ["x"]'}, ["a"]) == ({"a": '["x"]'}, [{"a": ["x"]}])
    assert proposed({"a": '{"x": 1}'}, ["a"]) == ({"a": '{"x": 1}'}, [{"a": {"x": 1}}])
    assert proposed({"a": " -1.5e3 "}, ["a"]) == ({"a": "-1500.0"}, [{"a": -1500.0}])
    assert proposed({"a": "12"}, ["a"]) == ({"a": "12"}, [{"a": 12}])
    assert proposed({"a": "[x"}, ["a"]) == ({"a": "[X"}, [{"a": "[x"}])
    assert proposed({"a": "12 x"}, ["a"]) == ({"a": "12 X"}, [{"a": "12 x"}])
    assert proposed({"a": 3}, ["a"]) == ({"a": 3}, [{"a": 3}])
    meant = formats.answer(chat("?"), ["a", "b"], shouted, random.Random(1), whose={3: "b"}.get)
    assert meant == '{"a": 3}'


def test_a_content_may_come_in_parts() -> None:
    assert formats.text_of("x") == "x"
    assert formats.text_of([{"text": "x"}, "no", {"type": "image"}, {"text": 3}]) == "x\n\n3"
    assert formats.text_of(None) == ""


def test_each_share_of_a_name_says_what_an_answer_does() -> None:
    field = draw(ORDER)
    shown: Any = {"steps": field.parameters[0].initial}
    prompt = chat(f"{ORDER.label}\n<current_values>\n{json.dumps(shown)}\n</current_values>\n")

    def answers(name: str) -> set[str]:
        script = Script(quality_of(name))
        return {script(prompt) for _ in range(8)}

    def values(text: str) -> Any:
        return json.loads(text)["values"]

    assert answers("p0-h0-r100") == {"I would think about it once more before I changed anything."}
    assert [values(text) for text in answers("p0-h0-r0")] == [shown]
    best: Any = field.optimum["steps"]
    before = [best.index(step) for step in shown["steps"]]
    for name, sign in (("p100-h0-r0", 1), ("p0-h100-r0", -1)):
        for text in answers(name):
            order = [best.index(step) for step in values(text)["steps"]]
            assert sign * (in_order(order) - in_order(before)) >= 0
            assert sign < 0 or order != before
    assert Script(quality_of("p0-h0-r100"))(chat("Field order: none")) == LOST
    told = json.dumps({"task": "fields:order", "options": {"size": "small", "deception": 0.0}, "job": "j", "seed": 1})
    nameless = chat(f"<current_values>\n{json.dumps(shown)}\n</current_values>\n")
    assert values(Script(quality_of("p0-h0-r0"))(nameless, told)) == shown


def in_order(places: list[int]) -> int:
    return sum(a < b for i, a in enumerate(places) for b in places[i + 1 :])


def test_the_commands_print_a_commitment_a_check_and_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "new_secret", lambda: "5" * 64)
    command.commit("r1", to=tmp_path / "own" / "folder")
    path = tmp_path / "own" / "folder" / "r1.secret"
    told = capsys.readouterr()
    commitment = releases.commitment_of("5" * 64)
    assert json.loads(told.out) == {"r1": {"commitment": commitment, "secret": None}}
    assert " ".join(told.err.split()).endswith("Enter the line into releases.json, and publish it.")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("5" * 64 + "\n", 0o600)
    with pytest.raises(UsageError) as again:
        command.commit("r1", to=path.parent)
    assert str(again.value) == f"`{path}` is there already; a secret is never drawn twice."
    assert again.value.hint == f"ls -l {path}"

    monkeypatch.setenv(releases.FOLDER, str(path.parent))
    with pytest.raises(UsageError, match=r"Release `r1` was not committed to: nothing stands in releases\.json"):
        command.verify("r1")
    published = {"r1": {"commitment": commitment, "secret": None}}
    monkeypatch.setattr(command, "known", lambda: published)
    monkeypatch.setattr(releases, "known", lambda: published)
    command.verify("r1")
    assert capsys.readouterr().out == f"r1: the secret is the one that was committed to, {commitment}\n"

    command.optimum("order", size="small", deception=0.0)
    assert json.loads(capsys.readouterr().out) == draw(ORDER).optimum
    with pytest.raises(UsageError) as unknown:
        command.optimum("ordr")
    assert str(unknown.value).startswith("There is no family `ordr`.")
    assert "order" in str(unknown.value)
    assert unknown.value.hint == "trace-bench list-tasks --bench fields"


def test_secrets_are_new_and_long() -> None:
    one, other = releases.new_secret(), releases.new_secret()
    assert one != other
    assert (len(one), len(bytes.fromhex(one))) == (64, 32)
    assert releases.commitment_of("x") == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


def test_a_file_that_is_no_text_and_a_release_that_is_a_path_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "known", lambda: {"r1": {"commitment": None, "secret": None}})
    monkeypatch.setenv(releases.FOLDER, str(tmp_path))
    (tmp_path / "r1.secret").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"r1\.secret` cannot be read: "):
        releases.secret_of("r1")
    (tmp_path / "r1.secret").write_text(" \n")
    with pytest.raises(UsageError) as empty:
        releases.secret_of("r1")
    assert str(empty.value) == (
        "The secret of release `r1` has not been given away, "
        f"and there is no file `r1.secret` in the folder that `{releases.FOLDER}` names."
    )
    assert empty.value.hint == f"export {releases.FOLDER}=FOLDER"
    (tmp_path / "r1.secret").write_text(" abc \n")
    assert releases.secret_of("r1") == "abc"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "r2.secret").write_text("abc")
    with pytest.raises(UsageError, match="The secret of release `sub/r2` is none that is published"):
        releases.secret_of("sub/r2")
