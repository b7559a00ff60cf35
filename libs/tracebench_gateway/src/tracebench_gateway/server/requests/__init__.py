"""Reading what a caller asks for."""
