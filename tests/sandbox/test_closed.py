"""A program whose network is closed but for one address: it reaches that one, whatever it starts does, too, and nothing else."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tracebench_engine.door.held import APART
from tracebench_sandbox.apart import NOT_STARTED, ONLY
from tracebench_sandbox.kernel import namespaces

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


@pytest.fixture
def page() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
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
