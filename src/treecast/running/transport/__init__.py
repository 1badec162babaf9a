"""How bytes get from rank to rank: one interface of seven verbs (base.py), and sockets that implement it (sockets.py)."""
