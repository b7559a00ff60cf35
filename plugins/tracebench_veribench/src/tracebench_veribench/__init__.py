"""VeriBench: programs with proofs, judged by the kernel of a proof checker."""
