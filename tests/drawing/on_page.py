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
    """Check that no text is clipped, and that no two of those that say something overlap."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    wide, high = figure.get_size_inches() * figure.dpi
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        shown = [*axes.texts, axes.title, axes._left_title]
        if axes.axison:
            for axis in (axes.xaxis, axes.yaxis):
                low, high_end = sorted(axis.get_view_interval())
                ticks = [
                    tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high_end
                ]  # others are not drawn
                shown += [axis.label, *(tick.label1 for tick in ticks)]
        texts += [text for text in shown if text.get_text()]
    boxes = [text.get_window_extent(renderer) for text in texts]
    for box, text in zip(boxes, texts, strict=True):
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= wide and box.y1 <= high
        assert inside, f"{text.get_text()!r} is clipped"
    for (a, one), (b, other) in combinations(zip(boxes, texts, strict=True), 2):
        apart = b.x0 >= a.x1 - 1 or a.x0 >= b.x1 - 1 or b.y0 >= a.y1 - 1 or a.y0 >= b.y1 - 1
        assert apart, f"{one.get_text()!r} and {other.get_text()!r} overlap"
