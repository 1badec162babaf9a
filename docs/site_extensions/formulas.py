"""Formulas that pages write in plain characters, such as ``⌈M x (N - 1) / k⌉`` or ``2^(d-1)``, are shown as formulas.

So pages stay readable where no site is built.
"""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from .plain import formulas

THEORY = re.compile(
    r"papers/.*|explanation/(?:allgather|capacities|copies|figures|mesh|new|one-port|open|trees)|reference/lists/bounds"
    r"|tutorials/(?:gossip|scatter|star)"
)
"""The pages on which a letter that stands alone is part of a formula, not a key, a unit or a label."""
SURE = re.compile(r"[⌈⌊Σ^_]")  # on all other pages a formula has one of these


class Formulas(SphinxPostTransform):
    """Make math nodes of the formulas in running text and tables."""

    default_priority = 5

    def run(self, **options):
        """Replace the text nodes of one page that hold formulas."""
        theory = THEORY.fullmatch(self.env.current_document.docname)
        for text in list(self.document.findall(nodes.Text)):
            if isinstance(text.parent, nodes.literal | nodes.math | nodes.FixedTextElement):
                continue
            found, end = [], 0
            for start, stop, parts in formulas(text):
                if theory or SURE.search(text[start:stop]):
                    found += [nodes.Text(text[end:start]), *(nodes.math(tex, tex) for tex in parts)]
                    found += [nodes.Text("\u2060")] * text.startswith(
                        "-", stop
                    )  # a word joiner: no line begins with -th
                    end = stop
            if found:
                text.parent.replace(text, [*found, nodes.Text(text[end:])])


def setup(app):
    """Register the transform."""
    app.add_post_transform(Formulas)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
