"""What runs beside foreign code: standard library only, so that it can be copied into a sandbox that sees no other part of this suite."""
