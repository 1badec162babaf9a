"""Interpreters of the formats that treecast writes for other tools, each written from the format's description alone.

An interpreter reads a file back, carries it out on real bytes and says what is wrong. None imports the exporter.
"""
