"""The verbs that run something; each is a file."""
