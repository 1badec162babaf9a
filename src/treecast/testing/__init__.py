"""Checks for parts that others add to treecast: a carrier of messages keeps the laws of ``treecast.testing.transports``."""
