"""What ``treecast help TOPIC`` explains, a file each: its docstring says what, its function ``topic`` returns the page.

A new topic is a new file. Each page is made from the registry or the code that it is about, never from a list of its own.
"""
