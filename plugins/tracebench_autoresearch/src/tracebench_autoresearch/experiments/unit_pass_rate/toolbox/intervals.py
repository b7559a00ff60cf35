"""Closed intervals of whole numbers, as pairs."""


def merge(intervals):
    """Return the union of intervals, sorted, those that overlap or touch ([1, 3] and [4, 6] do) as one."""
    merged = []
    for low, high in intervals:
        if merged and low < merged[-1][1]:
            merged[-1][1] = high
        else:
            merged.append([low, high])
    return merged


def covered(intervals):
    """Return how many whole numbers lie in at least one of the intervals."""
    return sum(high - low for low, high in intervals)
