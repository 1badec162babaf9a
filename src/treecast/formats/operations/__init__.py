"""Files of sends and receives with the waits of each: GOAL and SimGrid's traces, read and judged."""
