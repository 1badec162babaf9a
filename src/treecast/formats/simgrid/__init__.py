"""SimGrid: what each node sends and receives, as traces to replay, and the network to replay them on."""
