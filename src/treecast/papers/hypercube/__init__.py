"""Chau & Fu: the fault-tolerant hypercube."""
