import pytest

from tracebench_runs.storage.files import (
    AppendLog,
    FileSystem,
    Tail,
    installed,
    iter_lines,
    last_lines,
    make_dir,
    move,
    read_lines,
    remove,
    write_whole,
)


class FailingWrites(FileSystem):
    """A disk that takes `room` bytes and is full then."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, fd, data):
        if self.room == 0:
            raise OSError(28, "No space left on device")
        part = data[: self.room]
        self.room -= len(part)
        return super().write(fd, part)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_whole_file_replaces_the_old_one(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")
    write_whole(path, iter([b"n", b"ew"]), durable=True)
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")
    with installed(FailingWrites(room=2)), pytest.raises(OSError, match="No space"):
        write_whole(path, b"longer than the room")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_line_after_a_torn_one_stands_alone(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b'{"a":1}\n{"b":')
    log = AppendLog(path)
    log.append(b'{"c":3}')
    log.append(b'{"d":4}', durable=True)
    log.close()
    assert read_lines(path).lines == [b'{"a":1}', b'{"b":', b'{"c":3}', b'{"d":4}']


def test_a_line_torn_by_a_full_disk_is_ended_by_the_next_one(tmp_path):
    log = AppendLog(tmp_path / "log")
    log.append(b"first")
    with installed(FailingWrites(room=3)), pytest.raises(OSError, match="No space"):
        log.append(b"second")
    log.append(b"third")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"first\nsec\nthird\n"


def test_short_writes_are_continued(tmp_path):
    class Slow(FileSystem):
        def write(self, fd, data):
            return super().write(fd, data[:2])

    with installed(Slow()):
        write_whole(tmp_path / "file", b"content")
        log = AppendLog(tmp_path / "log")
        log.append(b"line")
        log.close()
    assert (tmp_path / "file").read_bytes() == b"content"
    assert (tmp_path / "log").read_bytes() == b"line\n"


def test_an_empty_or_clean_log_gets_no_extra_newline(tmp_path):
    for _ in range(2):
        log = AppendLog(tmp_path / "log")
        log.mend()
        log.append(b"line")
        log.close()
        log.close()
    assert (tmp_path / "log").read_bytes() == b"line\nline\n"


def test_mending_ends_a_torn_line_at_once(tmp_path):
    (tmp_path / "log").write_bytes(b"torn")
    log = AppendLog(tmp_path / "log")
    log.mend()
    log.close()
    assert (tmp_path / "log").read_bytes() == b"torn\n"


def test_reading_says_whether_the_last_line_is_torn(tmp_path):
    assert read_lines(tmp_path / "missing") == ([], False)
    (tmp_path / "log").write_bytes(b"a\n\nb")
    assert read_lines(tmp_path / "log") == ([b"a", b"b"], True)


def test_a_log_reads_from_its_end_as_it_does_from_its_beginning(tmp_path):
    path = tmp_path / "log"
    assert list(last_lines(path)) == []
    for content in (b"", b"\n", b"a", b"a\n", b"a\n\nb", b"\na\nbc\n\n"):
        path.write_bytes(content)
        assert list(last_lines(path)) == read_lines(path).lines[::-1]
        assert list(iter_lines(path)) == read_lines(path).lines


def test_a_log_that_grows_is_read_on_where_reading_ended(tmp_path):
    tail = Tail(tmp_path / "log")
    assert list(tail.read()) == []
    (tmp_path / "log").write_bytes(b"a\nto")
    assert list(tail.read()) == [b"a", b"to"]
    log = AppendLog(tmp_path / "log")
    log.append(b"c")
    log.close()
    assert list(tail.read()) == [b"c"]
    assert list(tail.read()) == []


def test_folders_are_made_with_their_parents_and_only_once(tmp_path):
    make_dir(tmp_path / "a" / "b" / "c")
    make_dir(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_dir(tmp_path / "file")


def test_moving_and_removing(tmp_path):
    (tmp_path / "a").touch()
    move(tmp_path / "a", tmp_path / "b")
    remove(tmp_path / "b")
    remove(tmp_path / "b")
    assert names(tmp_path) == []


def test_one_line_is_one_write(tmp_path):
    class Counting(FileSystem):
        def __init__(self):
            self.written = []

        def write(self, fd, data):
            self.written.append(data)
            return super().write(fd, data)

    (tmp_path / "log").write_bytes(b"torn")
    with installed(Counting()) as system:
        log = AppendLog(tmp_path / "log")
        log.append(b"x")
        log.append(b"y")
        log.close()
    assert system.written == [b"\nx\n", b"y\n"]


def test_the_name_of_a_log_is_flushed_with_its_first_durable_line(tmp_path):
    class Recording(FileSystem):
        def __init__(self):
            self.flushed = []

        def fsync(self, fd):
            self.flushed.append("lines")

        def sync_folder(self, path):
            self.flushed.append(path)

    with installed(Recording()) as system:
        for _ in range(2):
            log = AppendLog(tmp_path / "log")
            log.append(b"x")
            log.append(b"y", durable=True)
            log.append(b"z", durable=True)
            log.close()
    assert system.flushed == ["lines", tmp_path, "lines"] * 2
