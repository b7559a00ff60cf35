"""Question answering for Trace-Bench: data sets of the Hugging Face hub, scored as their authors do."""
