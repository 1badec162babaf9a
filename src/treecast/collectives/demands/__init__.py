"""Demands that people have: from one layout of tensors to another, tokens to experts, and collectives of groups at once."""

from treecast.collectives.demands.groups import groups
from treecast.collectives.demands.layouts import Tensor, distribute, pieces, redistribute, shards
from treecast.collectives.demands.routing import combine, dispatch

__all__ = ["Tensor", "combine", "dispatch", "distribute", "groups", "pieces", "redistribute", "shards"]
