"""Learns from rows and predicts others."""

import numpy as np


def predict(rows, targets, new):
    """Return a prediction for each of the new rows."""
    rows, targets, new = np.array(rows), np.array(targets), np.array(new)
    weights, *_ = np.linalg.lstsq(_with_one(rows), targets, rcond=None)
    return _with_one(new) @ weights


def _with_one(rows):
    return np.column_stack([rows, np.ones(len(rows))])
