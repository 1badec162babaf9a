"""The verbs for files; each is a file."""
