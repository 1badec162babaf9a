"""A line for each page as soon as it is read, with the seconds that this took: its cells are run then."""

import time


class Lines:
    """Tells of the pages of one build."""

    def __init__(self):
        self.last, self.pages, self.told = time.monotonic(), 0, 0

    def tell(self, what, count=""):
        """Print a line on what has just been done, with the seconds since the line before."""
        now = time.monotonic()
        print(f"{count:>9} {what:44} {now - self.last:6.1f} s", flush=True)
        self.last = now

    def begin(self, app, env, names):
        """Take over how many pages will be read; what came before were lists, the gallery and the pages of names."""
        self.pages = len(names)
        self.tell("lists, pictures, names")

    def page(self, app, doctree):
        """Tell of a page."""
        self.told += 1
        self.tell(app.env.current_document.docname, f"{self.told}/{self.pages}")


def setup(app):
    """Tell of every page that is read."""
    lines = Lines()
    app.connect("env-before-read-docs", lines.begin)
    app.connect("doctree-read", lines.page, priority=900)
    app.connect("build-finished", lambda app, error: lines.tell("the site is written"), priority=900)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
