"""Pictures for the papers."""
