"""Tasks from a folder: a Trace-Bench `benchmark_tasks` tree, an LLM4AD checkout, or the installed `llm4ad` distribution."""
