"""What makes equal runs of a library equal: a set that keeps its order, and ids drawn from the job's seed."""

import random
import uuid


def draw_ids(seed):
    """Draw the ids of this process from a seed, for libraries that put them into prompts, or choose from sets of them."""
    rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
    uuid.uuid4 = lambda: uuid.UUID(int=rng.getrandbits(128), version=4)


class OrderedSet(dict):
    """The library's own are ordered by address, so that equal runs send different prompts."""

    def __init__(self, items=()):
        super().__init__((item, None) for item in items)

    def add(self, item):
        """Add an item at the end."""
        self[item] = None
