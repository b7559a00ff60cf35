"""Settings of the trainers, one module per library; pydantic models and nothing heavy."""
