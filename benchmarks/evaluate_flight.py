"""How long `evaluate` takes for 1,000 rows of a server that answers in a second, 32 of them in flight, against the same requests alone.

    python benchmarks/evaluate_flight.py

The baseline of the same run is a pool of 32 threads that sends 1,000 requests to the same server and does nothing else; the ideal is
`rows / in flight` seconds. The server is a process of its own on 127.0.0.1. `measuring` is what the run's table calls seconds; `all` is
the whole command, with the start of the run, its gateway and its job.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def serve(seconds: float, told: Any) -> None:
    """Answer every request after so long."""

    class Server(ThreadingHTTPServer):
        request_queue_size, daemon_threads = 1024, True

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(seconds)
            message = {"role": "assistant", "content": "Answer: 7"}
            body = json.dumps(
                {
                    "id": "x", "object": "chat.completion", "created": 0, "model": "m",
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 3},
                }
            ).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = Server(("127.0.0.1", 0), Handler)
    told.put(server.server_address[1])
    server.serve_forever()


def alone(port: int, rows: int, in_flight: int) -> float:
    """Return how long the requests take by themselves."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "How many apples?"}]})

    def ask(_: int) -> None:
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        connection.getresponse().read()
        connection.close()

    begun = time.perf_counter()
    with ThreadPoolExecutor(in_flight) as pool:
        list(pool.map(ask, range(rows)))
    return time.perf_counter() - begun


def evaluated(port: int, rows: int, in_flight: int, folder: Path) -> tuple[float, float]:
    """Return how long `evaluate` measures, and how long the whole command takes."""
    data = folder / "gsm8k"
    data.mkdir()
    for split, count in (("train", 60), ("test", rows)):
        lines = (json.dumps({"question": f"{split} {i}: how many apples?", "answer": "#### 7"}) for i in range(count))
        (data / f"{split}.jsonl").write_text("\n".join(lines))
    command = [
        sys.executable,
        "-m",
        "tracebench_engine.cli",
        "evaluate",
        "hf:gsm8k",
        "--root",
        str(folder),
        "--model",
        "m",
    ]
    command += [
        "--base-url",
        f"http://127.0.0.1:{port}/v1",
        "--limit",
        str(rows),
        "--in-flight",
        str(in_flight),
        "--json",
    ]
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    whole = time.perf_counter() - begun
    if done.returncode:
        sys.exit(done.stderr)
    (one,) = json.loads(done.stdout)["candidates"]
    assert (one["rows"], one["score"]) == (rows, 1.0)
    return one["seconds"], whole


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=1.0)
    asked = parser.parse_args()
    told: Any = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(asked.seconds, told), daemon=True)
    server.start()
    port = told.get()
    ideal = asked.rows / asked.in_flight * asked.seconds
    baseline = alone(port, asked.rows, asked.in_flight)
    with tempfile.TemporaryDirectory() as folder:
        measuring, whole = evaluated(port, asked.rows, asked.in_flight, Path(folder))
    server.terminate()
    print(
        f"{asked.rows} rows, {asked.in_flight} in flight, {asked.seconds:g} s an answer; load {os.getloadavg()[0]:.1f}\n"
    )
    print("| | seconds | over the ideal | over the requests alone |\n|---|---|---|---|")
    for name, seconds in (("requests alone", baseline), ("measuring", measuring), ("all", whole)):
        print(f"| {name} | {seconds:.1f} | {seconds / ideal:.2f} | {seconds / baseline:.2f} |")


if __name__ == "__main__":
    main()
