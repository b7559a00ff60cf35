"""Trains the model, then answers, character by character, what it expects next. Runs apart from what scores it."""

import sys

import train

SECONDS = 5.0
LAST = 64  # characters of context that the model is given


def main():
    with open("train.txt", encoding="ascii") as file:
        text = " ".join(file.read().split())
    answers = sys.stdout
    sys.stdout = sys.stderr
    model = train.train(text, SECONDS, int(sys.argv[1]))
    print("trained", file=answers, flush=True)
    context = ""
    while True:
        print(" ".join(f"{p:.9g}" for p in model.probabilities(context)), file=answers, flush=True)
        if not (line := sys.stdin.readline()):
            return
        context = (context + line[0])[-LAST:]


main()
