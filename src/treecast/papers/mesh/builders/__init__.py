"""The builder of the mesh paper: its own scheme, to compare with."""
