"""Logs of inspect_ai and lm-evaluation-harness, read and compared question by question. Imports numpy."""

from tracebench_analysis.logs.inspect_ai import read_inspect
from tracebench_analysis.logs.lm_eval import read_lm_eval
from tracebench_analysis.logs.versus import LogComparison, Standing, compare_logs
from tracebench_analysis.logs.words import log_data, log_sentences

__all__ = ["LogComparison", "Standing", "compare_logs", "log_data", "log_sentences", "read_inspect", "read_lm_eval"]
