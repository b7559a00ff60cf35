"""A program whose network is closed but for one address: it reaches that one, whatever it starts does, too, and nothing else."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.whole import one_in

from tracebench_engine.door.held import APART
from tracebench_sandbox.jail import NOT_STARTED, ONLY
from tracebench_sandbox.kernel import namespaces
from tracebench_sandbox.kernel.closed import MOST_CONNECTIONS

BODY = b"x" * 300_000

pytestmark = pytest.mark.skipif(not namespaces.available(), reason="this host allows no user namespaces")


class Page(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        assert self.rfile.read(length) == BODY
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_: object) -> None:
        return


class Server(ThreadingHTTPServer):
    request_queue_size = 512  # the kernel lets one more that finds it full wait for seconds


@pytest.fixture
def page() -> Iterator[str]:
    with Server(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield "{}:{}".format(*server.server_address)
        server.shutdown()
        thread.join()


def run(only: str, source: str) -> subprocess.CompletedProcess[str]:
    command = [*APART, f"{ONLY}{only}", sys.executable, "-c", textwrap.dedent(source)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_one_address_answers_many_requests_at_once_in_whole(page: str) -> None:
    done = run(
        page,
        f"""
        from concurrent.futures import ThreadPoolExecutor
        from urllib.request import urlopen
        body = b"x" * {len(BODY)}
        with ThreadPoolExecutor(8) as pool:
            print(sum(pool.map(lambda _: urlopen("http://{page}", body).read() == body, range(40))))
        """,
    )
    assert (done.stdout.strip(), done.returncode) == ("40", 0), done.stderr


def test_a_program_that_it_starts_reaches_it_too(page: str) -> None:
    inner = f"from urllib.request import urlopen; print(len(urlopen('http://{page}', b'x' * {len(BODY)}).read()))"
    done = run(page, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)")
    assert done.stdout.strip() == str(len(BODY)), done.stderr


def threads_below(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(len(list(Path(f"/proc/{child}/task").iterdir())) for child in children)


def test_a_program_cannot_fill_the_hosts_side_with_threads(page: str) -> None:
    host, _, port = page.rpartition(":")
    source = textwrap.dedent(
        f"""
        import socket, sys
        from urllib.request import urlopen
        crowd = [socket.create_connection(({host!r}, {port}), 30) for _ in range({MOST_CONNECTIONS + 50})]
        print("full", flush=True)
        sys.stdin.readline()
        for one in crowd: one.close()
        print(len(urlopen("http://{page}", b"x" * {len(BODY)}).read()), flush=True)
        """
    )
    command = [*APART, f"{ONLY}{page}", sys.executable, "-c", source]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "full\n"
        until = time.monotonic() + 30
        while threads_below(process.pid) < 2 * MOST_CONNECTIONS and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(1)  # for those that wait, did nothing keep them
        assert threads_below(process.pid) <= 2 * MOST_CONNECTIONS + 9
        process.stdin.write("on\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{len(BODY)}\n"


@pytest.mark.parametrize("files", one_in(2, [64, 300]))
def test_where_few_files_may_be_open_connections_wait_and_the_relay_stays(page: str, files: int) -> None:
    """Two for each connection: the limit of many systems, 1024, is below that of all that are let in at once."""
    host, _, port = page.rpartition(":")
    source = textwrap.dedent(
        f"""
        import socket, time
        from urllib.request import urlopen
        for _ in range(2):
            crowd = []
            for _ in range(min({files} - 20, 150)):  # not more than the program itself may open
                one = socket.socket()
                one.setblocking(False)
                one.connect_ex(({host!r}, {port}))
                crowd.append(one)
            time.sleep(1)  # as many are let in as may be
            for one in crowd: one.close()
            print(len(urlopen("http://{page}", b"x" * {len(BODY)}, timeout=30).read()), flush=True)
        """
    )
    command = [*APART, f"{ONLY}{page}", sys.executable, "-c", source]
    limited = ["prlimit", f"--nofile={files}:{files}", *command]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.split() == [str(len(BODY))] * 2, done.stderr


@pytest.mark.parametrize("is_any", [True, False])
def test_nothing_else_on_this_machine_or_beyond_answers(page: str, is_any: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run(
            page if is_any else "",
            f"""
            import socket
            for address in (("127.0.0.1", {port}), ("192.0.2.1", 80), ("::1", {port})):
                try:
                    socket.create_connection(address, timeout=5)
                    print("reached", address)
                except OSError as err:
                    print(err.errno)
            """,
        )
    assert "reached" not in done.stdout
    assert len(done.stdout.split()) == 3, done.stderr


def test_a_server_that_is_gone_is_refused_and_the_next_one_served() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    done = run(
        f"127.0.0.1:{port}",
        f"""
        import socket
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", {port}), timeout=5) as asked:
                print(asked.recv(1) or "closed")
        """,
    )
    assert done.stdout.split() == ["closed"] * 3, done.stderr


def test_where_the_network_cannot_be_closed_nothing_starts(page: str) -> None:
    hide = [sys.executable, "tests/sandbox/hide.py", "namespaces"]
    command = [*hide, *APART, f"{ONLY}{page}", sys.executable, "-c", "print('started')"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == NOT_STARTED
    assert "The network cannot be closed here" in done.stderr
    assert "started" not in done.stdout
