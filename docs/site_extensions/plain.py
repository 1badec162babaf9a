"""Formulas in plain characters, such as ``⌈Mx(N - 1)/k⌉`` or ``v_1 … v_n``: found in a text, and written as TeX.

A formula has letters that stand alone, numbers, brackets and signs, and goes on as far as it can be read. A letter alone is one,
too, unless it is a word, an initial or a unit.
"""

import re
from collections.abc import Iterator

_SIGNS = {
    "≤": r"\le ", "≥": r"\ge ", "→": r"\to ", "…": r"\,\ldots \,", "·": r"\cdot ", "×": r"\times ", "x": r"\times ",
    "∖": r"\setminus ", "+ … +": r"+\cdots +",
}  # fmt: skip
_BREAKS = "=≤≥<>→"  # a line may end behind them
_FENCES = {
    "(": ("(", ")", ")"), "[": ("[", "]", "]"), "⌈": (r"\lceil ", "⌉", r"\rceil "), "⌊": (r"\lfloor ", "⌋", r"\rfloor "),
    "⟨": (r"\left\langle ", "⟩", r"\right\rangle "), "|": (r"\left|", "|", r"\right|"),
}  # fmt: skip
_GREEK = {
    "α": r"\alpha ", "β": r"\beta ", "δ": r"\delta ", "λ": r"\lambda ", "π": r"\pi ", "τ": r"\tau ", "χ": r"\chi ", "Σ": r"\sum ",
}  # fmt: skip
_NAMES = {name: rf"\mathrm{{{name}}}" for name in ("TCD", "lo", "max", "min")} | {"log2": r"\log_2 "}
_NAMES |= {product: product for product in ("Mx", "MN", "nd")}
# where a formula may begin: not within a word, a name or a path, and not with a unit
_START = re.compile(r"(?<![\w.:/&@'’-])(?<!\w\()(?<!\d )(?<!Appendix )(?!I/O)(?:-(?=[\w(]))?[\w(⌈⌊⟨|]")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?![.,]?\d)")
_LETTERS = re.compile(r"log2|(?!x \d+(?![\d-]))[^\W\d_]++(?!\d)")
_WORDS = re.compile(r"[A-Za-z]{2,}(?:[ -][a-z-]{2,})*")
_INDEX = re.compile(r"(?:\d+|[A-Za-z])(?!\w)")
_SIGN = re.compile(r"(\s*)(\+ … \+|[=≤≥<>→…+·×∖/-]|x(?= \d))(?!(?<=\d-)D)(\s*)")
# what a letter that stands alone is not: an article, a pronoun, an initial, part of an abbreviation
_NO_LETTER = re.compile(r"[aA](?![,.;:)]| or | and )|I (?:am|can|have)|[A-Z]\.(?:-| ?[A-Z])|[A-Za-z]\.[A-Za-z]")
_STACKED = re.compile(r"[(|]|\\sum")  # in a fraction that is more than 3n/2
_Read = tuple[str, int] | None
"""What has been read, as TeX, and the place behind it; None where that cannot be."""


def formulas(text: str) -> Iterator[tuple[int, int, list[str]]]:
    r"""Yield where each formula of a text begins and ends, and its TeX, in parts between which a line may end.

    >>> list(formulas("takes ⌈Mx/least in-degree⌉ steps, n ≥ 2"))
    [(6, 26, ['\\lceil Mx/\\text{least in-degree}\\rceil ']), (34, 39, ['n\\ge ', '2'])]
    """
    at = 0
    while start := _START.search(text, at):
        at = start.start()
        parts, end = _run(text, at) or ([], at)
        written = text[at:end]
        if (len(written) > 1 or not _NO_LETTER.match(text, at)) and re.search(r"[^\W\d]|[\^⌈⌊⟨]", written):
            yield at, end, parts
            at = end
        else:
            at += 1


def _run(text: str, at: int, within: str = "", words: bool = False) -> tuple[list[str], int] | None:
    """Read products and the signs between them; ``within``: the bracket that ends them, ``words``: whether words are factors."""
    minus = "-" * text.startswith("-", at)
    if not (read := _product(text, at + len(minus), within, words)):
        return None
    parts, (last, at) = [minus + read[0]], read
    while (
        (sign := _SIGN.match(text, at))
        and bool(sign[1]) == bool(sign[3])
        and (read := _product(text, sign.end(), within, words))
    ):
        tex, at = read
        if sign[2] == "/" and _STACKED.search(last + tex):
            tex = rf"\frac{{{_bare(last)}}}{{{_bare(tex)}}}"
            parts[-1] = parts[-1].removesuffix(last)
        else:
            parts[-1] += _SIGNS.get(sign[2], sign[2])
            parts += [""] * (sign[2] in _BREAKS and not within)
        parts[-1] += tex
        last = tex
    return parts, at


def _bare(tex: str) -> str:
    """Return a product without the round brackets around all of it."""
    return tex[1:-1] if re.fullmatch(r"\((?:[^()]|\([^()]*\))*\)", tex) else tex


def _product(text: str, at: int, within: str, words: bool) -> _Read:
    """Read factors side by side."""
    read = _factor(text, at, within, words)
    tex = ""
    while read:
        tex, at = tex + read[0], read[1]
        gap = re.compile(r"\s*").match(text, at)
        last, read = read[0], _factor(text, gap.end(), within, words)
        if gap[0] and read and (within or last.startswith(_GREEK["Σ"]) or _belongs(last, text[gap.end()], read[0])):
            tex += r"\,"
        elif gap[0]:
            break
    return (tex, at) if tex else None


def _belongs(last: str, first: str, tex: str) -> bool:
    """Return whether a factor behind a blank is surely one, not the next word of a sentence."""
    if first == "(":
        return last[-1] in "0123456789)"
    return last not in ("a", "A", "I") and bool(re.search(r"[_^(\\]", tex))


def _factor(text: str, at: int, within: str, words: bool) -> _Read:
    """Read a number, a letter, a name or a bracket, with its indices."""
    first = text[at : at + 1]
    if first in _FENCES and first != within:
        read = _bracket(text, at, words)
    elif number := _NUMBER.match(text, at):
        read = number[0].replace(",", "{,}"), number.end()
        if text[read[1] : read[1] + 1].isalpha() and not _letters(text, read[1], False):
            return None
    else:
        read = _letters(text, at, words)
    while read and text[read[1] : read[1] + 1] in ("_", "^", "!"):
        tex, at = read
        if text[at] == "!":
            read = tex + "!", at + 1
        elif index := _INDEX.match(text, at + 1):
            read = f"{tex}{text[at]}{{{index[0]}}}", index.end()
        elif text.startswith("(", at + 1) and (group := _bracket(text, at + 1, False)):
            read = f"{tex}{text[at]}{{{_bare(group[0])}}}", group[1]
        else:
            return None
    return read


def _letters(text: str, at: int, words: bool) -> _Read:
    found = _LETTERS.match(text, at)
    if not found:
        return None
    run, end = found[0], found.end()
    if run in _NAMES:
        return _NAMES[run], end
    if len(run) == 1 or any(letter in _GREEK for letter in run):
        return "".join(_GREEK.get(letter, letter) for letter in run), end
    if text.startswith("_", end):
        return rf"\mathrm{{{run}}}", end
    word = _WORDS.match(text, at) if words else None
    return (rf"\text{{{word[0]}}}", word.end()) if word else None


def _bracket(text: str, at: int, words: bool) -> _Read:
    """Read what stands in brackets; in those of ⌈words⌉, and right behind a letter, words may stand."""
    opening, closer, closing = _FENCES[text[at]]
    words = words or text[at] in "⌈⌊" or text[at - 1 : at].isalpha()
    inner: list[str] = []
    while read := _run(text, at + 1, closer, words):
        inner += read[0]
        at = read[1]
        if text.startswith(closer, at):
            return opening + ", ".join(inner) + closing, at + 1
        if not text.startswith(",", at):
            return None
        at += text.startswith(", ", at)
    return None
