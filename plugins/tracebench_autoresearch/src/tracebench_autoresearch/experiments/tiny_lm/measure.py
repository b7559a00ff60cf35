"""Scores the model: one character at a time, each known to it only after its prediction was taken."""

import math
import resource
import subprocess
import sys

ALPHABET = " abcdefghijklmnopqrstuvwxyz"
LATEST = 7.5  # seconds within which training, of five, must be over


def main():
    text = " ".join(sys.stdin.read().split())
    child = subprocess.Popen(
        [sys.executable, "serve.py", sys.argv[-1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    said = child.stdout.readline()
    if not said.strip():
        sys.exit("the model was not trained")
    if float(said) > LATEST:
        sys.exit(f"training took {float(said):.1f} s, and has 5 s")
    bits = 0.0
    for character in text:
        expected = [float(p) for p in child.stdout.readline().split()]
        if len(expected) != len(ALPHABET) or not all(p >= 0 for p in expected) or not 0.99 < sum(expected) < 1.01:
            sys.exit(f"these are no {len(ALPHABET)} probabilities: {str(expected)[:200]}")
        bits -= math.log2(max(expected[ALPHABET.index(character)] / sum(expected), 1e-9))
        child.stdin.write(character + "\n")
    child.kill()
    child.communicate()
    print(f"val_bpb: {bits / len(text):.6f}")
    print(f"train_seconds: {float(said):.3f}")
    print(f"peak_memory_mb: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.1f}")


main()
