"""The topics of ``treecast help`` that ranks add; each is a file."""
