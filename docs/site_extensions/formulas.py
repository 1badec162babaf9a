"""Formulas that pages write in plain characters, such as ``⌈M x (N - 1) / k⌉``, are shown as formulas.

So pages stay readable where no site is built.
"""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

FORMULA = re.compile(r"[⌈⌊][\w ()|+/·λΣ×≤≥-]+[⌉⌋]")  # what MathML has no character for stays text
TOKEN = re.compile(r"log2|[A-Za-z]{3,}(?:[ -][a-z-]{2,})* ?|.", re.DOTALL)
TEX = {
    "⌈": r"\lceil ", "⌉": r"\rceil ", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "Σ": r"\Sigma ", "·": r"\cdot ", "λ": r"\lambda ",
    "|": r"\vert ", "×": r"\times ", "≤": r"\le ", "≥": r"\ge ", "log2": r"\log_2 ",
}  # fmt: skip


def tex_of(text: str) -> str:
    """Return a formula in plain characters as TeX; words of three letters and more stay words.

    >>> tex_of("⌈Mx/least in-degree⌉")
    '\\\\lceil Mx/\\\\text{least in-degree}\\\\rceil '
    """
    return "".join(TEX.get(part, rf"\text{{{part}}}" if len(part) > 2 else part) for part in TOKEN.findall(text))


class Formulas(SphinxPostTransform):
    """Make math nodes of the formulas in running text and tables."""

    default_priority = 5

    def run(self, **options):
        """Replace the text nodes of one page that hold formulas."""
        for text in list(self.document.findall(nodes.Text)):
            if isinstance(text.parent, nodes.literal | nodes.math | nodes.FixedTextElement) or not FORMULA.search(text):
                continue
            found, end = [], 0
            for match in FORMULA.finditer(text):
                tex = tex_of(match.group())
                found += [nodes.Text(text[end : match.start()]), nodes.math(tex, tex)]
                end = match.end()
            text.parent.replace(text, [*found, nodes.Text(text[end:])])


def setup(app):
    """Register the transform."""
    app.add_post_transform(Formulas)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
