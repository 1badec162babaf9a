"""Cang & Wu: broadcast on meshes under wormhole switching."""
