"""Files: of plans, of other tools, of networks, and what a job left."""
