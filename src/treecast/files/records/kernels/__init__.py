"""Inner loops that read records of jobs."""
