"""The Lean family: problems found on disk or on the hub, checked by any of four Lean front ends."""
