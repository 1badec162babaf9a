"""Which ranks take part, and how all that live come to one outcome of a call."""
