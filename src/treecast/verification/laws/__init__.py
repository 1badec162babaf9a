"""The laws that networks, makers and machines keep."""
