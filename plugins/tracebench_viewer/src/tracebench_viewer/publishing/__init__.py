"""Runs as a static site: the viewer's pages as files that open from disk."""
