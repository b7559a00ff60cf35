"""A comparison as a file to hand on: HTML that opens offline, Markdown, JUnit, CSV and Parquet."""
