"""The Coq problems that ship, as data: listing reads none of their files."""

from __future__ import annotations

from typing import Literal, NamedTuple

Grade = Literal[1, 2, 3]
"""1: each theorem follows by computation, one induction or a decision procedure. 2: it takes a more general lemma, or a case for each way
the program goes. 3: it takes several lemmas on helper functions, or an invariant."""


class Entry(NamedTuple):
    """What a listing shows of a problem."""

    name: str
    title: str
    category: str
    grade: Grade


ENTRIES = (
    Entry("list_sum", "Sum of a list", "lists", 1),
    Entry("count_occurrences", "Count occurrences", "lists", 1),
    Entry("is_even", "Parity", "arithmetic", 1),
    Entry("maximum", "Maximum of a list", "search", 1),
    Entry("tree_mirror", "Mirror a binary tree", "trees", 1),
    Entry("bounded_read", "Bounds-checked read", "security", 1),
    Entry("sanitize", "Remove a forbidden symbol", "security", 1),
    Entry("filter_below", "Filter by a bound", "search", 1),
    Entry("no_read_up", "No read up", "security", 1),
    Entry("append_one", "Append one element", "lists", 1),
    Entry("pairwise_sums", "Pairwise sums", "lists", 1),
    Entry("swap_pairs", "Swap pairs", "lists", 1),
    Entry("double_all", "Double every number", "lists", 1),
    Entry("difference", "Absolute difference", "arithmetic", 1),
    Entry("triangular", "Triangular numbers", "arithmetic", 1),
    Entry("clamp", "Clamp a number", "arithmetic", 1),
    Entry("majority", "Majority of three", "security", 1),
    Entry("safe_division", "Safe division", "security", 1),
    Entry("all_below", "Are all below a bound?", "search", 1),
    Entry("contains", "Does a list hold a number?", "search", 1),
    Entry("list_reverse", "Reverse a list with an accumulator", "lists", 2),
    Entry("deduplicate", "Remove duplicates", "lists", 2),
    Entry("factorial", "Factorial by an accumulator", "arithmetic", 2),
    Entry("power", "Fast exponentiation", "arithmetic", 2),
    Entry("gcd", "Greatest common divisor", "arithmetic", 2),
    Entry("linear_search", "Linear search", "search", 2),
    Entry("insertion_sort", "Insertion sort", "sorting", 2),
    Entry("constant_time_compare", "Compare secrets", "security", 2),
    Entry("fibonacci", "Fibonacci by two accumulators", "arithmetic", 2),
    Entry("run_length", "Run-length coding", "lists", 2),
    Entry("partition", "Partition by a pivot", "sorting", 2),
    Entry("binary_increment", "Binary counter", "arithmetic", 2),
    Entry("tree_flatten", "Flatten a tree with an accumulator", "trees", 2),
    Entry("tree_height", "Height of a tree", "trees", 2),
    Entry("find_last", "Last place of a number", "search", 2),
    Entry("quotient", "Division by subtraction", "arithmetic", 2),
    Entry("redact", "Redact a log", "security", 2),
    Entry("stack_compiler", "Compile expressions for a stack machine", "languages", 2),
    Entry("queue", "A queue of two lists", "lists", 2),
    Entry("common_prefix", "Longest common prefix", "lists", 2),
    Entry("merge_sorted", "Merge two lists", "sorting", 3),
    Entry("bst_insert", "Insert into a binary search tree", "trees", 3),
    Entry("merge_sort", "Merge sort", "sorting", 3),
    Entry("quick_sort", "Quick sort", "sorting", 3),
    Entry("selection_sort", "Selection sort", "sorting", 3),
    Entry("tree_sort", "Sort by a search tree", "sorting", 3),
    Entry("heap_merge", "Merge two heaps", "trees", 3),
    Entry("lower_bound", "Bisection", "search", 3),
    Entry("fold_constants", "Fold constants", "languages", 3),
    Entry("is_prime", "Primality by trial division", "arithmetic", 3),
    Entry("permutations", "All orders of a list", "lists", 3),
    Entry("subsets", "All subsets", "lists", 3),
    Entry("balanced", "Balanced parentheses", "languages", 3),
    Entry("best_segment", "Segment of greatest sum", "search", 3),
    Entry("regex", "Match regular expressions", "languages", 3),
    Entry("type_checker", "A type checker that is right", "languages", 3),
    Entry("information_flow", "No flow from secret to public", "security", 3),
    Entry("modular_power", "Modular exponentiation", "arithmetic", 3),
    Entry("binary_addition", "Binary addition", "arithmetic", 3),
    Entry("bst_remove_least", "Take the least out of a search tree", "trees", 3),
)
TRAIN = (
    "list_sum", "count_occurrences", "is_even", "maximum", "tree_mirror", "bounded_read", "sanitize", "difference",
    "factorial", "insertion_sort", "fibonacci", "run_length", "tree_flatten", "find_last", "redact", "queue",
    "quick_sort", "tree_sort", "lower_bound", "is_prime", "subsets", "type_checker", "fold_constants", "binary_addition",
)  # fmt: skip
VALIDATION = (
    "pairwise_sums", "clamp", "majority", "contains",
    "deduplicate", "power", "linear_search", "constant_time_compare",
    "selection_sort", "best_segment", "information_flow", "modular_power",
)  # fmt: skip
TEST = (
    "append_one", "swap_pairs", "double_all", "triangular", "safe_division", "all_below", "filter_below", "no_read_up",
    "list_reverse", "gcd", "partition", "binary_increment", "tree_height", "quotient", "stack_compiler", "common_prefix",
    "merge_sorted", "bst_insert", "merge_sort", "heap_merge", "permutations", "balanced", "regex", "bst_remove_least",
)  # fmt: skip
"""A line a grade."""
