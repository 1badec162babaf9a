"""How bytes get from rank to rank: one interface of six verbs (base.py), and what implements it (sockets.py)."""
