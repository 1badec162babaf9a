"""The file formats of treecast itself: one to read and write by hand, one for millions of rows."""
