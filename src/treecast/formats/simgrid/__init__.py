"""SimGrid: the sends and receives of each node, as traces to replay, and the network to replay them on."""
