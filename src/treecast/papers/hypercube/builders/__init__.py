"""The builders of the schemes that the hypercube paper compares."""
