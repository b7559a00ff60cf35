import json
import math
import shutil
import threading
from datetime import UTC, datetime

from pydantic import TypeAdapter, ValidationError
from tests.unit.store.samples import candidate, evaluation, started, whole_job

from tracebench_core.specs.events import AnyEvent, CandidateSeen, JobFinished, MetricLogged
from tracebench_runs.events.eventlog import EventLog, iter_events, read_events
from tracebench_runs.events.reduce import reduce_job
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.meta.manifest import read_head, write_manifest
from tracebench_runs.results.results import read_result, write_result
from tracebench_runs.storage.files import read_lines
from tracebench_runs.storage.layout import RunLayout

NOW = round(datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC).timestamp()) * 10**9 + 4_999_999


def open_writer(tmp_path, **clocks):
    layout = RunLayout(tmp_path).job("0123456789ab")
    if not layout.path.exists():
        layout.fresh()
    return EventWriter(layout, **clocks)


def test_events_read_back_as_written(tmp_path):
    writer = open_writer(tmp_path)
    written = tuple(writer.write(event) for event in whole_job())
    writer.close()
    assert read_events(writer.layout) == EventLog(written, unreadable=0)


def test_a_line_reads_the_same_whoever_wrote_it(tmp_path):
    """What the writer's own lines are spared does not change what any line is read as."""
    writer = open_writer(tmp_path)
    for event in whole_job():
        writer.write(event)
    writer.close()
    lines = read_lines(writer.layout.events).lines
    for line in list(lines):
        data = json.loads(line)
        lines += [
            json.dumps(data).encode(),
            json.dumps({"kind": data["kind"], **data}).encode(),
            json.dumps({**data, "v": 2}).encode(),
            json.dumps({**data, "kind": "of_tomorrow"}).encode(),
            line[:-1] + b',"v":2}',
            line[:-1] + b',"v":"1"}',
            line[:-1] + b',"kind":"budget"}',
            line[:-1] + b',"kind":"of_tomorrow"}',
            line[:-1] + b',"more":1}',
            line[:-1],
            line.replace(b'"seq":', b'"seq":-'),
        ]
    any_event = TypeAdapter(AnyEvent)
    for line in lines:
        try:
            expected = [any_event.validate_json(line)]
        except ValidationError:
            expected = []
        assert list(iter_events([line])) == expected, line


def test_the_writer_numbers_and_times(tmp_path):
    times = iter([10.0, 11.5, 13.25])
    writer = open_writer(tmp_path, clock=lambda: NOW, monotonic=lambda: next(times))
    first, second = writer.write(started()), writer.write(evaluation())
    writer.close(durable=False)
    assert (first.seq, second.seq) == (0, 1)
    assert (first.mono, second.mono) == (1.5, 3.25)
    assert first.t == "2026-11-21T01:02:03.004Z"
    assert [json.loads(line)["seq"] for line in writer.layout.events.read_bytes().splitlines()] == [0, 1]


def test_a_log_that_a_dead_process_left_torn_is_continued(tmp_path):
    writer = open_writer(tmp_path)
    writer.write(started())
    last = writer.write(evaluation())
    writer.close()
    with writer.layout.events.open("ab") as log:
        log.write(b'{"v":1,"seq":2,"t":"20')
    after = open_writer(tmp_path)
    end = after.write(JobFinished(status="failed", stop_reason="error"))
    after.close()
    log = read_events(writer.layout)
    assert [event.seq for event in log.events] == [0, 1, 2]
    assert log.unreadable == 1
    assert end.mono >= last.mono


def test_a_new_attempt_starts_on_an_empty_folder_and_the_old_one_is_kept(tmp_path):
    for attempt in range(3):
        writer = EventWriter(RunLayout(tmp_path).job("0123456789ab").fresh())
        writer.write(started(seed=attempt))
        writer.close()
    run = RunLayout(tmp_path)
    assert [event.seed for event in read_events(run.job("0123456789ab")).events] == [2]
    assert sorted(path.name for path in run.attempts.iterdir()) == ["0123456789ab.1", "0123456789ab.2"]


def test_attempts_are_numbered_on_even_when_one_was_thrown_away(tmp_path):
    run = RunLayout(tmp_path)
    job = run.job("0123456789ab")
    for _ in range(3):
        (job.fresh().path / "file").touch()
    shutil.rmtree(run.attempts / "0123456789ab.1")
    job.fresh()
    assert sorted(path.name for path in run.attempts.iterdir()) == ["0123456789ab.2", "0123456789ab.3"]


def test_an_empty_folder_is_no_attempt(tmp_path):
    job = RunLayout(tmp_path).job("0123456789ab").fresh().fresh()
    assert job.path.is_dir()
    assert not job.run.attempts.exists()


def test_large_values_go_to_blobs(tmp_path):
    writer = open_writer(tmp_path)
    written = writer.write(candidate(values={"x": 1, "text": "long " * 1000}))
    writer.close()
    assert written.values["x"] == 1
    assert set(written.values["text"]) == {"blob"}
    assert writer.blobs.expand(written.values)["text"] == "long " * 1000


def test_numbers_that_json_lacks_survive(tmp_path):
    writer = open_writer(tmp_path)
    writer.write(evaluation(metrics={"nan": math.nan, "inf": math.inf}))
    writer.write(MetricLogged(name="loss", value=-math.inf))
    writer.close()
    one, two = read_events(writer.layout).events
    assert math.isnan(one.metrics["nan"])
    assert one.metrics["inf"] == math.inf
    assert two.value == -math.inf
    for line in writer.layout.events.read_text().splitlines():
        json.loads(line, parse_constant=lambda text: 1 / 0)


def test_text_that_no_encoding_can_hold_is_spelled_out(tmp_path):
    writer = open_writer(tmp_path)
    writer.write(candidate(values={"x": "a\ud800b"}))
    writer.close()
    (event,) = read_events(writer.layout).events
    assert isinstance(event, CandidateSeen)
    assert event.values["x"] == "a\\ud800b"


ACTING = "".join(map(chr, (0, 7, 27, 0x7F, 0x85, 0x9B, 0x2028, 0x202E, 0x2066)))


def test_what_would_act_on_a_terminal_is_spelled_out_in_every_file(tmp_path):
    writer = open_writer(tmp_path)
    values = {"x": f"é{ACTING}[2J", ACTING: "\ud800\x9b"}
    written = writer.write(candidate(values=values))
    writer.close()
    write_result(writer.layout, reduce_job(whole_job()).model_copy(update={"stop_reason": f"é{ACTING}"}))
    write_manifest(RunLayout(tmp_path), {"name": ACTING}, [])

    for path in (writer.layout.events, writer.layout.results, RunLayout(tmp_path).manifest):
        assert not {*path.read_text(encoding="utf-8")} & {*ACTING}
    assert read_events(writer.layout).events == (written,)
    assert written.values["x"] == values["x"]
    assert read_result(writer.layout).result.stop_reason == f"é{ACTING}"
    assert read_head(RunLayout(tmp_path))["name"] == ACTING


def test_threads_share_one_gap_free_log(tmp_path):
    writer = open_writer(tmp_path)
    threads = [threading.Thread(target=lambda: [writer.write(evaluation()) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    log = read_events(writer.layout)
    assert [event.seq for event in log.events] == list(range(200))
    assert log.unreadable == 0
