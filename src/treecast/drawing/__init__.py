"""Pictures of schedules: ``text``; ``figures`` (matplotlib, extra ``plot``) for SVG, PNG and PDF; ``explorer`` for HTML."""
