"""The Coq problems that ship, as data: listing reads none of their files."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """What a listing shows of a problem."""

    name: str
    title: str
    category: str


ENTRIES = (
    Entry("list_sum", "Sum of a list", "lists"),
    Entry("list_reverse", "Reverse a list with an accumulator", "lists"),
    Entry("deduplicate", "Remove duplicates", "lists"),
    Entry("count_occurrences", "Count occurrences", "lists"),
    Entry("factorial", "Factorial by an accumulator", "arithmetic"),
    Entry("power", "Fast exponentiation", "arithmetic"),
    Entry("gcd", "Greatest common divisor", "arithmetic"),
    Entry("is_even", "Parity", "arithmetic"),
    Entry("insertion_sort", "Insertion sort", "sorting"),
    Entry("merge_sorted", "Merge two lists", "sorting"),
    Entry("linear_search", "Linear search", "search"),
    Entry("maximum", "Maximum of a list", "search"),
    Entry("filter_below", "Filter by a bound", "search"),
    Entry("tree_mirror", "Mirror a binary tree", "trees"),
    Entry("bst_insert", "Insert into a binary search tree", "trees"),
    Entry("bounded_read", "Bounds-checked read", "security"),
    Entry("constant_time_compare", "Compare secrets", "security"),
    Entry("sanitize", "Remove a forbidden symbol", "security"),
    Entry("no_read_up", "No read up", "security"),
)
TRAIN = (
    "list_sum", "count_occurrences", "factorial", "is_even", "insertion_sort", "maximum", "tree_mirror", "bounded_read", "sanitize",
)  # fmt: skip
VALIDATION = ("deduplicate", "power", "linear_search", "constant_time_compare")
TEST = ("list_reverse", "gcd", "merge_sorted", "filter_below", "bst_insert", "no_read_up")
