"""Demands that people have: from one layout of tensors to another, tokens to experts, and collectives of groups at once."""

from treecast.demands.groups import groups
from treecast.demands.layouts import Tensor, distribute, pieces, redistribute, shards
from treecast.demands.routing import combine, dispatch

__all__ = ["Tensor", "combine", "dispatch", "distribute", "groups", "pieces", "redistribute", "shards"]
