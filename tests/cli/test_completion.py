"""Shell completion, tried in a real shell."""

import shutil
import subprocess

import pytest

from treecast.cli import main


def test_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2
    assert "bash" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is missing")
def test_bash_completes_verbs_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out

    def completed(*words: str) -> set[str]:
        typed = " ".join(f"'{word}'" for word in ("treecast", *words))
        ask = (
            f"{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words)}; _treecast; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        return set(
            subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True, timeout=300).stdout.split()
        )

    assert {"verify"} <= completed("ver") <= {"verify"}
    assert "--survive" in completed("plan", "--sur")
    assert completed("plan", "--sur") <= {"--survive"}
