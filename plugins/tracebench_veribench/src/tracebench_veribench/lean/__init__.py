"""The Lean family: problems found on disk or on the hub, checked by Lean's kernel and compared as compiled terms."""
