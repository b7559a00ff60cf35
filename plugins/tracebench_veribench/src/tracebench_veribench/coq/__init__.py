"""The Coq family: problems of our own, checked by `coqc`."""
