"""What is done with runs that exist: steering those under way, checking and mending, repeating from a recording."""
