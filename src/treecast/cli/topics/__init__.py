"""The topics of ``treecast help``, a file each: its docstring is the summary, its function ``topic`` returns the page.

A new topic is a new file. Each page is made from the registry or the code that it is about, never from a list of its own.
"""
