"""Readers of networks' files, a file each, found by themselves."""
