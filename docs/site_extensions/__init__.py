"""What the documentation site does that Sphinx does not do by itself."""
