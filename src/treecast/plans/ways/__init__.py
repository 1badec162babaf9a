"""Ways: which way chunks go, without a time; and timetables: when, on any machine."""
