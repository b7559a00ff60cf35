"""Scores the model: one character at a time, each known to it only after its prediction was taken, by a clock of its own."""

import math
import os
import resource
import select
import signal
import subprocess
import sys
import time

ALPHABET = " abcdefghijklmnopqrstuvwxyz"
LATEST = 7.5  # seconds within which the program must have started and trained, which has five for it
ANSWERS = 10.0  # seconds for all answers together


class Lines:
    """The lines that a program prints, each to come before a time."""

    def __init__(self, stream):
        self.stream, self.rest = stream, b""

    def read(self, until, late):
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.stream], [], [], left)[0]:
                raise TimeoutError(late)
            piece = os.read(self.stream.fileno(), 1 << 16)
            if not piece:
                raise EOFError("the model was not trained, or has ended")
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        if time.monotonic() > until:  # it may have kept this program from running
            raise TimeoutError(late)
        return line.decode(errors="replace")


def score(child, lines, text):
    began = time.monotonic()
    lines.read(began + LATEST, f"training took more than {LATEST} s, and has 5 s")
    trained = time.monotonic()
    bits = 0.0
    for character in text:
        said = lines.read(trained + ANSWERS, f"answers took more than {ANSWERS} s")
        expected = [float(p) for p in said.split()]
        if len(expected) != len(ALPHABET) or not all(p >= 0 for p in expected) or not 0.99 < sum(expected) < 1.01:
            raise ValueError(f"these are no {len(ALPHABET)} probabilities: {said[:200]}")
        bits -= math.log2(max(expected[ALPHABET.index(character)] / sum(expected), 1e-9))
        os.write(child.stdin.fileno(), character.encode() + b"\n")
    return bits / len(text), trained - began


def main():
    text = " ".join(sys.stdin.read().split())
    argv = [sys.executable, "serve.py", sys.argv[-1]]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, bufsize=0)
    try:
        bits, trained = score(child, Lines(child.stdout), text)
    except (TimeoutError, EOFError, OSError, ValueError) as err:
        sys.exit(str(err))
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    print(f"val_bpb: {bits:.6f}")
    print(f"train_seconds: {trained:.3f}")
    print(f"peak_memory_mb: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.1f}")


main()
