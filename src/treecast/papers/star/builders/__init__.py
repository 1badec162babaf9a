"""The builders of the trees that the star paper begins with."""
