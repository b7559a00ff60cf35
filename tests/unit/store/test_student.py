import math

import pytest

from tracebench_runs.results.student import cdf, interval, quantile

# Student's table (t for a two-sided 95 % interval), to five digits: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 29: 2.045, 30: 2.042, 100: 1.984}


@pytest.mark.parametrize(("df", "t"), TABLE.items())
def test_quantiles_are_those_of_the_table(df, t):
    assert round(quantile(0.975, df=df), 3) == t
    assert quantile(0.025, df=df) == -quantile(0.975, df=df)


def test_closed_forms():
    assert quantile(0.9, df=1) == pytest.approx(math.tan(math.pi * 0.4), rel=1e-12)
    assert quantile(0.9, df=2) == pytest.approx(0.8 * math.sqrt(2 / (4 * 0.9 * 0.1)), rel=1e-12)
    assert quantile(0.5, df=7) == pytest.approx(0.0, abs=1e-12)


def test_many_degrees_of_freedom_join_smoothly_and_end_at_the_normal():
    assert quantile(0.975, df=401) == pytest.approx(quantile(0.975, df=400), rel=1e-4)
    assert cdf(quantile(0.975, df=401), df=401) == pytest.approx(0.975, abs=1e-11)
    assert quantile(0.975, df=10**7) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize(("p", "df"), [(0.0, 3), (1.0, 3), (0.5, 0)])
def test_nonsense_is_refused(p, df):
    with pytest.raises(ValueError, match="no t quantile"):
        quantile(p, df=df)


def test_the_interval_of_a_mean():
    low, high = interval([1.0, 2.0, 3.0, 4.0])
    assert (low + high) / 2 == pytest.approx(2.5)
    assert (high - low) / 2 == pytest.approx(3.182446 * math.sqrt(5 / 3 / 4), rel=1e-6)
    assert interval([1.0]) is None
    assert interval([2.0, 2.0]) == (2.0, 2.0)
