"""Plans carried out by ranks: the transfers of each, over any transport, past ranks that die."""
