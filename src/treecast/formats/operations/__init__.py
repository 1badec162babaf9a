"""Files of sends and receives with what each waits for: GOAL and SimGrid's traces, read and judged."""
