"""Plans under wormhole switching."""
