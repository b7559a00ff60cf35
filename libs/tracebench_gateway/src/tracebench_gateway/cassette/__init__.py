"""Exchanges kept for later: the recording of a run, its replay, and the cache of identical calls."""
