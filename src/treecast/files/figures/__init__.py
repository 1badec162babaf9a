"""Pictures of what files say."""
