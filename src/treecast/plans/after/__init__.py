"""After a plan: the rows that are kept when nodes or links fail, and the differences from another plan."""
