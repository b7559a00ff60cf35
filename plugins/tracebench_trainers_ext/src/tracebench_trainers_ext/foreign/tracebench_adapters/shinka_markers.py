"""The lines by which ShinkaEvolve finds what it may change."""


def without_markers(text):
    """Return a program without them."""
    return "".join(line for line in text.splitlines(keepends=True) if "EVOLVE-BLOCK-" not in line)
