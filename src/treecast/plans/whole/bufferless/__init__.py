"""Plans without buffers: a flit that arrives is sent on in the next step."""
