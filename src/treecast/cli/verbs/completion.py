"""``treecast completion``."""

from typing import Annotated, Literal

from cyclopts import Parameter

from treecast.cli import console


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell to print it for.")], /
) -> int:
    """Print the script by which a shell completes treecast's verbs and options.

    Example: treecast completion bash > ~/.local/share/bash-completion/completions/treecast
    """
    from treecast.cli.app import app

    console.show_text(app.generate_completion(shell=shell))
    return 0
