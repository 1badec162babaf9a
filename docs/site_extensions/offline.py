"""No page loads anything from elsewhere: no script, no style, no letters, no picture."""

import re
from pathlib import Path

LOADS = re.compile(
    r"""<(?:script|img|iframe|source|video)[^>]*\ssrc=["'](?:https?:)?//[^"']+"""
    r"""|<link(?=[^>]*rel=["'](?:stylesheet|preload|preconnect|icon)["'])[^>]*\shref=["'](?:https?:)?//[^"']+"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//[^"')\s]+|url\(["']?(?:https?:)?//[^"')\s]+"""
)


def find_loads(folder):
    """Return (file, what it would load from elsewhere) for all pages, styles and pictures below a folder."""
    files = [each for suffix in ("html", "css", "svg") for each in Path(folder).rglob(f"*.{suffix}")]
    return [
        (file.relative_to(folder).as_posix(), match)
        for file in sorted(files)
        for match in LOADS.findall(file.read_text())
    ]


def _check(app, exception):
    if exception is None and app.builder.format == "html" and (found := find_loads(app.outdir)):
        from sphinx.errors import SphinxError

        raise SphinxError("\n".join(f"{file} would load from elsewhere: {what}" for file, what in found))


def setup(app):
    """Look at all that was written."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
