"""Plans carried out: ranks, their messages, and jobs of them."""
