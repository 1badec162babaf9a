"""The topics of ``treecast help`` that files add; each is a file."""
