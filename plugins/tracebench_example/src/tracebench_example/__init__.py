"""The smallest whole plugin of Trace-Bench."""
