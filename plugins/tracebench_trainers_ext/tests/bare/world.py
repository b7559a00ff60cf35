"""The toy and the model for libraries that run by hand, without Trace-Bench: arguments are address, seed, train and validation inputs."""

import json
import sys
import urllib.request

URL, SEED, TRAIN, VALIDATION = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), json.loads(sys.argv[4])
INITIAL = "def transform(x):\n    return x + 1\n"
VISITED = []


def score(code, x):
    """Return the score of a candidate on one input, and remember that it was visited."""
    if not VISITED or code.strip() not in VISITED:
        VISITED.append(code.strip())
    space = {}
    exec(code, space)
    return 1.0 / (1.0 + abs(space["transform"](x) - (2 * x + 1)))


def ask(prompt, system=None):
    """Ask the scripted model."""
    messages = [{"role": "system", "content": system}] if system else []
    body = json.dumps({"model": "fake-model", "messages": [*messages, {"role": "user", "content": prompt}]}).encode()
    request = urllib.request.Request(f"{URL}/chat/completions", body, {"Content-Type": "application/json"})
    return json.loads(urllib.request.urlopen(request).read())["choices"][0]["message"]["content"]


def tell():
    """Print what was visited, in order."""
    print(json.dumps(VISITED))
