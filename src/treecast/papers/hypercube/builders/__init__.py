"""Builders of the hypercube paper: gossip that spares messages, and allgather in several copies."""
