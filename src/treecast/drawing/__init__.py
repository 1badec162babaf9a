"""Pictures of schedules: ``text`` for the terminal, ``figures`` (matplotlib, extra ``plot``) for SVG, PNG and PDF files."""
