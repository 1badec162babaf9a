"""Pictures on a page of their own, as ``draw`` makes them."""

from dataclasses import replace
from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg

from treecast.drawing.registry import USUAL
from treecast.drawing.style import empty_figure


def on_page(draw, subject, view=USUAL):
    """Return the figure on which a picture has been drawn."""
    page = empty_figure()
    draw(subject, replace(view, page=page))
    return page


def check_room(figure):
    """Check that all texts of a figure lie in it, and none on another."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    wide, high = figure.get_size_inches() * figure.dpi
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        shown = axes.get_xticklabels() + axes.get_yticklabels() if axes.axison else []
        texts += [text for text in [*axes.texts, *shown] if text.get_text()]
    boxes = [text.get_window_extent(renderer) for text in texts]
    for box, text in zip(boxes, texts, strict=True):
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= wide and box.y1 <= high
        assert inside, f"{text.get_text()!r} is clipped"
    by_left = sorted(range(len(boxes)), key=lambda i: boxes[i].x0)
    for a, b in combinations(by_left, 2):
        apart = boxes[b].x0 >= boxes[a].x1 - 1 or boxes[b].y0 >= boxes[a].y1 - 1 or boxes[a].y0 >= boxes[b].y1 - 1
        assert apart, f"{texts[a].get_text()!r} and {texts[b].get_text()!r} overlap"
