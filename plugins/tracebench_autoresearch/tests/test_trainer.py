"""`Autoresearch` as any trainer: the conformance kit."""

from __future__ import annotations

from tracebench_autoresearch.stub import answer
from tracebench_autoresearch.trainer.prompts import build_prompt


def test_the_stub_changes_a_number_of_a_shown_file() -> None:
    import random

    from tracebench_autoresearch.edits.applying import read_proposal

    files = {"a.py": "RATE = 0.5\nname = 'x'\n```\n", "b.txt": "nothing here"}
    prompt = build_prompt(program="", objective="", files=files, tried=(), last="", notes=())

    reply = answer(prompt, random.Random(1))

    assert reply is not None
    changed = read_proposal(reply, files)
    assert changed.files["a.py"] != files["a.py"]
    assert changed.hypothesis.startswith("RATE 0.5 ->")
    assert answer([{"role": "user", "content": "another prompt"}], random.Random(1)) is None
