"""Formulas as MathML, which browsers show by themselves: Sphinx's own way would load MathJax from elsewhere."""

from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def _convert(node, as_block):
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except Exception as error:  # docutils' converter raises MathError, and others where a formula is no formula
        LOGGER.warning("no formula: %s (%s)", node.astext(), error, location=node)
        return ""


def visit_inline(writer, node):
    """Write a formula within a line."""
    writer.body.append(_convert(node, as_block=False))
    raise writer_skip()


def visit_block(writer, node):
    """Write a formula on lines of its own."""
    writer.body.append(f'<div class="math">{_convert(node, as_block=True)}</div>')
    raise writer_skip()


def writer_skip():
    """Return what tells a writer that nothing within a node is left to write."""
    from docutils.nodes import SkipNode

    return SkipNode()


def setup(app):
    """Register the renderer and choose it."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
