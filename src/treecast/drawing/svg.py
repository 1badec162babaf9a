"""An SVG that people who cannot see it are told about: a title, a description, and text that is text."""

from xml.sax.saxutils import escape


def describe(svg: bytes, title: str, description: str) -> bytes:
    """Return an SVG file with a title and a description, which screen readers read and search engines find."""
    head, rest = svg.decode().split("<svg ", 1)
    attributes, body = rest.split(">", 1)
    told = f"\n <title>{escape(title)}</title>\n <desc>{escape(description)}</desc>"
    return f'{head}<svg role="img" {attributes}>{told}{body}'.encode()
