"""After a plan: what is kept of it when nodes or links fail, and how it differs from another."""
