"""A candidate as files in a folder: one a parameter, with the suffix of its kind."""

SUFFIXES = {"code": ".py", "text": ".txt"}
TASK = "TASK.md"
HISTORY = "history.jsonl"


def file_of(task, name):
    """Return the file's name of a parameter."""
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
    return f"{safe}{SUFFIXES.get(task.parameters[name].kind, '.json')}"


def write_texts(task, texts, folder):
    """Write a candidate's files."""
    for name, text in texts.items():
        (folder / file_of(task, name)).write_text(text)


def read_texts(task, folder):
    """Return the texts of a candidate's files; a file that is gone leaves an empty text."""
    texts = {}
    for name in task.initial:
        path = folder / file_of(task, name)
        texts[name] = path.read_text(errors="replace") if path.is_file() else ""
    return texts
