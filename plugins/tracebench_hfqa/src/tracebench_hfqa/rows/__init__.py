"""Rows of data sets: from the hub, a folder or the package, cut into seeded, disjoint splits."""
