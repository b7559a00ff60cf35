"""A set that keeps its order, for libraries whose prompts follow the order of a set."""


class OrderedSet(dict):
    """The library's own are ordered by address, so that equal runs send different prompts."""

    def __init__(self, items=()):
        super().__init__((item, None) for item in items)

    def add(self, item):
        """Add an item at the end."""
        self[item] = None
