"""The papers: their statements as checks that run, and the builders of their own schemes."""
