"""Plans in which a node uses all its links in a step, one message on each."""
