"""Graphs as people have them: networkx's, matrices, dicts, GraphML, lists of links."""
