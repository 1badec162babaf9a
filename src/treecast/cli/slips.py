"""The errors of command lines that cannot be read, in the words that all other errors have."""

from typing import get_args

from cyclopts import CoercionError, CycloptsError, MissingArgumentError, UnknownOptionError, UnusedCliTokensError
from cyclopts.exceptions import ConsumeMultipleError, RepeatArgumentError, UnknownCommandError

from treecast.cli.app import find_verbs
from treecast.errors import did_you_mean

_NUMBERS = {int: "a whole number", float: "a number"}


def spell_slip(error: CycloptsError) -> str:
    """Return the words that a command line lacks, or has too many, and where to read on."""
    verb = " ".join(error.command_chain or ())
    where = f"'treecast {verb} --help' says what there is" if verb else "'treecast --help' lists the verbs"
    name = error.argument.name if error.argument is not None else ""
    match error:
        case UnknownCommandError():
            unknown = (error.unused_tokens or [""])[0]
            meant = did_you_mean(unknown, find_verbs()) if not verb else ""
            return f"there is no verb {unknown!r}: {where}{meant}"
        case UnusedCliTokensError():
            return f"{' '.join(error.unused_tokens or [])!r} is one argument too many: {where}"
        case UnknownOptionError():
            asked = error.token.keyword or error.token.value
            known = [name for argument in error.argument_collection for name in argument.names]
            return f"{verb or 'treecast'} has no option {asked}: {where}{did_you_mean(asked, known)}"
        case ConsumeMultipleError():
            return f"{error.keyword or name} has no value: write one or more behind it, with spaces between them"
        case MissingArgumentError() if name.startswith("-"):
            given = error.keyword is not None or bool(error.argument and error.argument.tokens)
            return f"{name} has no value: {where}" if given else f"{name} is missing: {where}"
        case MissingArgumentError():
            return f"{name} is missing: {where}"
        case RepeatArgumentError():
            return f"{error.token.keyword} is given twice: give it once"
        case CoercionError() if error.token is not None and error.token.keyword and error.msg is None:
            kinds = [kind for kind in (error.target_type, *get_args(error.target_type)) if kind in _NUMBERS]
            if kinds:
                return f"{error.token.keyword} {error.token.value} will not do: write {_NUMBERS[kinds[0]]}"
            if choices := [choice for choice in get_args(error.target_type) if isinstance(choice, str)]:
                hint = did_you_mean(error.token.value, choices)
                return f"{error.token.keyword} {error.token.value} will not do: write one of {', '.join(choices)}{hint}"
        case _:
            pass
    return str(error)
