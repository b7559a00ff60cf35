"""One job: its problem, its record of candidates, its meter, its events, its scoring, its end."""
