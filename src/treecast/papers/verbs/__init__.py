"""The verbs for the papers; each is a file."""
