"""The verbs, a file each: parse, call, describe. A new verb is a new file with a function of its name."""
