"""A candidate as files in a folder: one a parameter, with the suffix of its kind."""

import json

SUFFIXES = {"code": ".py", "text": ".txt"}
TASK = "TASK.md"
HISTORY = "history.jsonl"
"""What was measured, one line a measurement."""
FIELDS = {"score": (int, float), "examples": list, "held_out": bool, "candidate": str, "texts": dict}


def file_of(task, name):
    """Return the file's name of a parameter; of several that would have one name, the later ones are numbered."""
    names = [plain_name(other) for other in task.parameters]
    at = list(task.parameters).index(name)
    before = names[:at].count(names[at])
    number = f"-{before + 1}" if before else ""
    return f"{names[at]}{number}{SUFFIXES.get(task.parameters[name].kind, '.json')}"


def plain_name(name):
    """Return a parameter's name as a file's."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)


def write_texts(task, texts, folder):
    """Write a candidate's files, in which every end of a line stays what it is."""
    for name, text in texts.items():
        (folder / file_of(task, name)).write_bytes(text.encode())


def read_texts(task, folder):
    """Return the texts of a candidate's files; a file that is gone leaves an empty text."""
    texts = {}
    for name in task.initial:
        path = folder / file_of(task, name)
        texts[name] = path.read_bytes().decode(errors="replace") if path.is_file() else ""
    return texts


def best_measured(folder, *, most, names=None):
    """Return the texts of the best candidates of the history that were never measured on the held-out examples.

    Only those compare that were measured on as many training examples as any; of equal ones the first is best. An agent may have
    written into its history: a line that is none of ours is passed over, and so is one with texts of other `names`.
    """
    rows = [row for row in read_history(folder) if names is None or set(row["texts"]) == set(names)]
    settled = {row["candidate"] for row in rows if row["held_out"]}
    tried = [row for row in rows if row["candidate"] not in settled]
    widest = max((len(row["examples"]) for row in tried), default=0)
    compared = {}
    for row in tried:
        if len(row["examples"]) == widest:
            compared.setdefault(row["candidate"], row)
    return [row["texts"] for row in sorted(compared.values(), key=lambda row: -row["score"])][:most]


def read_history(folder):
    """Return the lines of the history that can be read."""
    path = folder / HISTORY
    rows = []
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else []:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        known = isinstance(row, dict) and all(isinstance(row.get(name), kind) for name, kind in FIELDS.items())
        if known and all(isinstance(text, str) for text in row["texts"].values()):
            rows.append(row)
    return rows
