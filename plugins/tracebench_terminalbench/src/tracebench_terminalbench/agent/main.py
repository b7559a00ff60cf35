"""A small agent for a terminal: it asks a model for commands, runs them and shows what they printed, until the model is done."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

MOST_TURNS = 8


def surroundings() -> str:
    """Return what the model is shown of the folder before it begins."""
    return ""


def review() -> str:
    """Return what the model is shown when it says that it is done; nothing: it is believed."""
    return ""


def run(command: str) -> str:
    """Run a command; return it and what it printed."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    return f"$ {command}\n{done.stdout}{done.stderr}"


def ask(messages: list[dict[str, str]]) -> str:
    """Return the model's answer."""
    body = json.dumps({"model": os.environ["MODEL"], "messages": messages}).encode()
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body, headers)
    with urllib.request.urlopen(request) as answer:
        said: str = json.load(answer)["choices"][0]["message"]["content"]
        return said


def main() -> None:
    """Work on the task of `INSTRUCTION`."""
    prompt = Path(__file__).with_name("prompt.md").read_text()
    task = f"{os.environ['INSTRUCTION']}\n{surroundings()}"
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": task}]
    reviewed = False
    for _ in range(MOST_TURNS):
        answer = ask(messages)
        print(answer, flush=True)
        turn = json.loads(answer)
        shown = [run(command) for command in turn["commands"]]
        if turn["done"]:
            if reviewed or not (seen := review()):
                return
            reviewed = True
            shown.append(seen)
        print(*shown, sep="\n", flush=True)
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": "\n".join(shown)}]
    sys.stdout.write("no turn is left\n")


if __name__ == "__main__":
    main()
