"""Plans in which a node uses all its links in a step, one message on each.

Communication model, where a file says no other: store-and-forward, all-port, full duplex, one message of fixed length per arc
and step.
"""
