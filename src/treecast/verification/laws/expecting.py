"""What a law says when it is broken."""


def expect(found: object, wanted: object, what: str) -> None:
    """Raise AssertionError when something is not as it should be."""
    if found != wanted:
        raise AssertionError(f"{what}: there is {found!r}, not {wanted!r}")
