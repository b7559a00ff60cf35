"""Splits a table by the seed, has the model predict in a process of its own, which never sees what it predicts, and scores."""

import csv
import json
import math
import random
import subprocess
import sys

SEEN = 600
CHILD = """
import json, sys
from model import predict
rows, targets, new = json.load(sys.stdin)
answers, sys.stdout = sys.stdout, sys.stderr
json.dump([float(one) for one in predict(rows, targets, new)], answers)
"""


def main():
    table = [[float(cell) for cell in row] for row in csv.reader(sys.stdin)]
    random.Random(int(sys.argv[-1])).shuffle(table)
    seen, new = table[:SEEN], table[SEEN:]
    given = json.dumps([[row[:-1] for row in seen], [row[-1] for row in seen], [row[:-1] for row in new]])
    child = subprocess.run([sys.executable, "-c", CHILD], input=given, capture_output=True, text=True)
    try:
        found = [float(one) for one in json.loads(child.stdout)]
    except (ValueError, TypeError):
        sys.exit(f"the model did not predict: {child.stderr.strip()[-1000:]}")
    if len(found) != len(new) or not all(map(math.isfinite, found)):
        sys.exit(f"a number is needed for each of {len(new)} rows")
    print(f"rmse: {math.sqrt(sum((a - row[-1]) ** 2 for a, row in zip(found, new)) / len(new)):.6f}")


main()
