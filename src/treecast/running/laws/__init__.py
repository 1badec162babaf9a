"""The laws that a carrier of messages keeps."""
