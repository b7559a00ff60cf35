"""The open bench: a page of results, its receipts, and two ways to compute it again."""
