"""Collectives: what is to be done, seen from the data: which chunk starts where, and where it must end."""

from treecast.collectives.collective import COLLECTIVES, Collective, Holdings, Lengths

__all__ = ["COLLECTIVES", "Collective", "Holdings", "Lengths"]
