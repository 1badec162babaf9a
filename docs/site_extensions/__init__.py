"""The extensions of Sphinx by which the documentation site is built."""
