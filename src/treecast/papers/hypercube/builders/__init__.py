"""The builders of the hypercube paper: gossip as it stands there, to compare with."""
