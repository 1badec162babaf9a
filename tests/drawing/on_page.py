"""Pictures on a page of their own, as ``draw`` makes them."""

from dataclasses import replace

from treecast.drawing.registry import USUAL
from treecast.drawing.style import empty_figure


def on_page(draw, subject, view=USUAL):
    """Return the figure on which a picture has been drawn."""
    page = empty_figure()
    draw(subject, replace(view, page=page))
    return page
