"""Parts of pages that are made, or stand elsewhere: whoever reads a page in the repository finds a sentence with a link there.

In a page they are written ``<!-- include FILE -->``, the sentence, and ``<!-- end -->``; on the site FILE takes their place.
"""

import re

_INCLUDED = re.compile(r"^<!-- include (\S+)(?: (:.+))? -->\n.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)


def with_files(text):
    """Return a page whose included parts are directives.

    >>> with_files("<!-- include a.inc :relative-docs: docs/ -->\\nSee [a](a.py).\\n<!-- end -->")
    '```{include} a.inc\\n:relative-docs: docs/\\n```'
    """
    return _INCLUDED.sub(lambda found: "\n".join(["```{include} " + found[1], *filter(None, [found[2]]), "```"]), text)


def _read(app, name, source):
    source[0] = with_files(source[0])


def setup(app):
    """Put the files in when a page is read."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
