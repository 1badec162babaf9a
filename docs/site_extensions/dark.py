"""Pictures that follow the theme of the site: light pages show ``x.svg``, and dark ones ``x-dark.svg`` where it lies beside."""

from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform


class DarkPictures(SphinxTransform):
    """Put the dark picture behind each that has one; the theme shows either of them."""

    default_priority = 500

    def apply(self, **options):
        """Add the pictures of one page."""
        for light in list(self.document.findall(nodes.image)):
            path = Path(light["uri"])
            beside = path.with_stem(f"{path.stem}-dark")
            for dark in beside, Path("/reference/lists/pictures", beside.name):  # the latter of those in docs/pictures
                if Path(self.env.relfn2path(dark.as_posix())[1]).exists():
                    twin = light.deepcopy()
                    twin["uri"] = dark.as_posix()
                    light["classes"].append("only-light")
                    twin["classes"].append("only-dark")
                    light.parent.insert(light.parent.index(light) + 1, twin)
                    break


def setup(app):
    """Register the transform."""
    app.add_transform(DarkPictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
