"""What runs say of their trainers, and what runs to come can say: comparisons, curves, reports, recaps, estimates."""
