"""A recorded job's texts and code, as libraries hold them, and its model, as they ask one."""

import random
import re
import uuid
from statistics import fmean

import recorded
from recorded import settings


class Ordered(dict):
    """A set that keeps its order, for libraries whose prompts follow that of their sets: by address, another one in each run."""

    def __init__(self, items=()):
        super().__init__((item, None) for item in items)

    def add(self, item):
        """Add an item at the end."""
        self[item] = None


def draw_ids(seed):
    """Draw ids from a seed, as the job did: they stand in prompts, or in sets from which a library chooses."""
    rng = random.Random(seed)
    uuid.uuid4 = lambda: uuid.UUID(int=rng.getrandbits(128), version=4)


def read(texts):
    """Return the values that texts stand for; a fence around code is none of it."""
    return {
        name: without_fence(text) if recorded.parameters[name].kind == "code" else text for name, text in texts.items()
    }


def without_fence(text):
    """Return what stands in the fenced block that a text is, else the text."""
    found = re.fullmatch(r"\s*```[^\n`]*\n(.*?)\n?```\s*", text, flags=re.DOTALL)
    return found[1] if found else text


def ask(messages):
    """Return the model's answer."""
    return recorded.ask(messages, temperature=settings.temperature, max_tokens=settings.max_tokens)[0]


def mean_score(texts, examples):
    """Return the mean score of texts."""
    found = recorded.measure(read(texts), examples)
    return fmean(one.score for one in found)


def planned_calls():
    """Return how many evaluations gepa is told of: those of the cap, at most."""
    wanted, cap = settings.max_metric_calls, recorded.evaluations
    if cap is None:
        return wanted or 300
    return max(1, min(cap, wanted or cap))


def side_information(one):
    """Return what gepa is told of one example."""
    return {"Inputs": recorded.shown(one.example), "Feedback": one.feedback, "Score": f"{one.score:g}"}


def instructions():
    """Return what a file of code or of words is, for a prompt."""
    ((name, _),) = recorded.initial.items()
    return f"{recorded.objective}\n\nThe higher the score, the better.\n\nThe file is {recorded.describe(name)}."


def evaluated(code):
    """Return the mean score of a file, the means of its metrics, and the words on it."""
    ((name, _),) = recorded.initial.items()
    found = recorded.measure(read({name: code}), recorded.train)
    names = set.intersection(*(set(one.metrics) for one in found)) - {"combined_score", "error"}
    means = {each: fmean(one.metrics[each] for one in found) for each in sorted(names)}
    score = fmean(one.score for one in found)
    return {"combined_score": score, **means}, "\n".join(dict.fromkeys(one.feedback for one in found))


def planned_programs(wanted):
    """Return how many programs the cap leaves room for."""
    cap = recorded.evaluations
    return wanted if cap is None else max(1, min(wanted, -(-cap // len(recorded.train))))


def lay(config, given):
    """Set fields of a config, and of those in it."""
    for name, value in given.items():
        part = getattr(config, name)
        if isinstance(value, dict) and hasattr(part, "__dataclass_fields__"):
            lay(part, value)
        else:
            setattr(config, name, value)
    return config
