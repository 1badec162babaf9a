"""The exit statuses and their meaning."""

from treecast.description import Description, Table

STATUSES = (
    (0, "it holds: the schedule is right, everything arrived, every statement has its known verdict"),
    (1, "it is violated: a rule is broken, data is missing, a bound is beaten"),
    (2, "it cannot be done: standard error says why in one line, and nothing is half-written"),
    (
        3,
        "it is not known: the report says what is missing; a file may hold all the same, but for contents that it does not say",
    ),
    (124, "the time limit of 'launch', 'lab run' or 'run --mpi' has passed"),
    (130, "interrupted by Ctrl-C"),
)


def topic() -> Description:
    """Return every exit status and its meaning."""
    notes = (
        "'verify' returns 3 for a file that does not say its collective, and 'why' where the records name nobody.",
        "'launch' and 'lab run' else return the status of the program that they start: of the first rank that failed.",
        "'launch' returns 128 + n when signal n killed all ranks; with --intact, when it killed any.",
    )
    return Table(("status", "means"), STATUSES, of="statuses").alone(notes)
