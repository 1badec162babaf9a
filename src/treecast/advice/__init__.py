"""Which network to build: among networks of families, or by cables between hosts without a switch."""
