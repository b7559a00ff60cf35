import json

import yaml
from tests.unit.store.samples import candidate, evaluation, started, whole_job

from tracebench_core.specs.events import Scored
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.events.states import StateHistory, write_history, yaml_text
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage.layout import RunLayout


def write(tmp_path, events):
    writer = EventWriter(RunLayout(tmp_path).job("0123456789ab").fresh())
    for event in events:
        writer.write(event)
    writer.close()
    write_history(writer.layout, StateHistory(read_events(writer.layout).events), writer.blobs)
    return writer.layout


def load(path):
    return yaml.safe_load(path.read_bytes())


def test_states_hold_the_values_by_name(tmp_path):
    layout = write(tmp_path, whole_job())
    assert (load(layout.initial_state), load(layout.best_state), load(layout.final_state)) == (
        {"x": 1.5},
        {"x": 2.5},
        {"x": 2.5},
    )


def test_the_history_has_one_line_per_candidate(tmp_path):
    layout = write(tmp_path, whole_job())
    assert [json.loads(line) for line in layout.state_history.read_text().splitlines()] == [
        {"step": None, "candidate": "c0", "score": 1.0, "parents": [], "origin": "", "values": {"x": 1.5}},
        {"step": 0, "candidate": "c1", "score": 2.0, "parents": ["c0"], "origin": "mutate", "values": {"x": 2.5}},
    ]


def test_large_values_are_whole_in_states_and_hashes_in_the_history(tmp_path):
    text = "one line\n" * 1000
    layout = write(tmp_path, [started(), candidate(values={"text": text}), candidate("c1", values={"text": ""})])
    assert load(layout.initial_state) == {"text": text}
    assert set(json.loads(layout.state_history.read_text().splitlines()[0])["values"]["text"]) == {"blob"}


def test_a_job_of_one_candidate_has_no_states(tmp_path):
    layout = write(tmp_path, [started(), candidate(), evaluation()])
    assert not layout.artifacts.exists()


def test_code_is_written_as_a_block():
    code = "def f(x):\n    if x:\n        return 'yes: \"#'\n    return None\n"
    text = yaml_text({"f": code, "n": 1, "word": "true", "long": "word " * 100})
    assert text.decode().startswith("f: |\n  def f(x):\n      if x:\n")
    assert len(text.decode().splitlines()) == 8
    assert yaml.safe_load(text) == {"f": code, "n": 1, "word": "true", "long": "word " * 100}


def test_any_text_reads_back():
    for text in (
        "",
        " \n ",
        "trailing \nspaces \n",
        "\ttab\nx",
        "no end\nof line",
        "ünï\u2028code\n",
        "---\n...\n",
        "\x07\n",
    ):
        assert yaml.safe_load(yaml_text({"x": text})) == {"x": text}


def test_the_scored_final_candidate_is_the_final_state(tmp_path):
    events = [
        *whole_job()[:-1],
        Scored(what="final", split="validation", candidate="c0", score=1.0, metrics={}),
        whole_job()[-1],
    ]
    assert load(write(tmp_path, events).final_state) == {"x": 1.5}


def test_a_score_needs_every_example_measured(tmp_path):
    events = [
        started(),
        candidate("c0"),
        evaluation("c0", "e0", 1.0),
        evaluation("c0", "e1", 2.0),
        candidate("c1"),
        evaluation("c1", "e0", 1.0),
        evaluation("c1", "e1", 0.0, status="error"),
        candidate("c2"),
        evaluation("c2", "e0", 9.0),
        evaluation("c2", "v0", 4.0, split="validation"),
        candidate("c3"),
    ]
    layout = write(tmp_path, events)
    assert [json.loads(line)["score"] for line in layout.state_history.read_text().splitlines()] == [
        1.5,
        None,
        4.0,
        None,
    ]


def test_a_job_without_candidates_has_no_states(tmp_path):
    assert not write(tmp_path, [started()]).artifacts.exists()


def test_odd_values_come_back_as_they_were(tmp_path):
    odd = {"text": 'é \u2028, "quoted", }{', "number": 1e308, "list": [None, True, {"score": 2}]}
    layout = write(tmp_path, [started(), candidate(values={"text": ""}), candidate("c1", values=odd)])
    last = json.loads(layout.state_history.read_text().splitlines()[1])
    assert [*last] == ["step", "candidate", "score", "parents", "origin", "values"]
    assert last["values"] == odd
    assert load(layout.final_state)["list"] == odd["list"]
