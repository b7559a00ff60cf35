"""Times `solve` against the reference in turns, each in a process of its own, on numbers that neither has seen."""

import json
import random
import subprocess
import sys
import time

SERVE = """
import importlib, json, sys
answers, sys.stdout = sys.stdout, sys.stderr
solve = importlib.import_module(sys.argv[1]).solve
print("ready", file=answers, flush=True)
for line in sys.stdin:
    print(json.dumps(solve(*json.loads(line))), file=answers, flush=True)
"""
ROUNDS, SIZE = 9, 500


class Child:
    def __init__(self, module):
        argv = [sys.executable, "-S", "-c", SERVE, module]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        if self.process.stdout.readline() != "ready\n":
            sys.exit(f"{module}.py cannot be loaded")

    def ask(self, question):
        began = time.perf_counter()
        self.process.stdin.write(question + "\n")
        said = self.process.stdout.readline()
        return time.perf_counter() - began, said


def main():
    rng = random.Random(int(sys.argv[-1]))
    ours, theirs = Child("solve"), Child("reference")
    seconds = [[], []]
    for _ in range(ROUNDS):
        numbers = [rng.randrange(1000) for _ in range(SIZE)]
        question = json.dumps([numbers, rng.randrange(2000)])
        took, said = ours.ask(question)
        reference, expected = theirs.ask(question)
        if said != expected:
            sys.exit(f"solve(…) returned {said.strip() or 'nothing'}, not {expected.strip()}")
        seconds[0].append(took)
        seconds[1].append(reference)
    for child in (ours, theirs):
        child.process.kill()
        child.process.communicate()
    print(f"speedup: {sorted(seconds[1])[ROUNDS // 2] / sorted(seconds[0])[ROUNDS // 2]:.6f}")


main()
