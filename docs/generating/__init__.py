"""The pages of the reference, a module each: what they say is read from registries, help texts and docstrings."""
