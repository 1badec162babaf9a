"""Plans as a whole, by the machine that they are for: ways and times in one."""
