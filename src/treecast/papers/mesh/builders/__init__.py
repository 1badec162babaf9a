"""Builders of the mesh paper: broadcast and multicast under wormhole switching."""
