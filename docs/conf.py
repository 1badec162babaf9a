"""Settings of the documentation site, which ``make docs`` builds with Sphinx.

Pages are executed while they are read, so whatever a page prints, this version of treecast has printed. A cell that fails
fails the build, and so does a link that leads nowhere or a page that would load anything from elsewhere.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE = os.environ.get("TREECAST_PAGE", "")  # the one page that is built, if not all are
sys.path[:0] = [str(HERE), str(HERE.parent / "src"), str(HERE.parent)]

from site_extensions.gallery import WrittenPictures  # noqa: E402

import treecast  # noqa: E402

try:
    from generate import write_first_page, write_included, write_reference
except ImportError:
    write_reference = None

project = "treecast"
author = "The treecast developers"
project_copyright = author
version = release = treecast.__version__

extensions = [
    "myst_nb",
    "sphinx_design",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "autoapi.extension",
    "site_extensions.dark",
    "site_extensions.formulas",
    "site_extensions.included",
    "site_extensions.mathml",
    "site_extensions.offline",
    "site_extensions.told",
]
root_doc = "index"
if PAGE:
    root_doc, include_patterns = PAGE, [f"{PAGE}.md"]
    extensions = [name for name in extensions if name not in ("sphinx_gallery.gen_gallery", "autoapi.extension")]
exclude_patterns = [
    "_build",
    "**/GALLERY_HEADER.rst",
    "gallery/*.py",
    "gallery/*.ipynb",
    "gallery/*.json",
    "gallery/*.md5",
    "gallery/*.zip",
]
suppress_warnings = [
    "config.cache",  # the settings hold functions, which cannot be pickled
    "autoapi.python_import_resolution",  # of modules that import within packages whose names come late
]
nitpicky = True
if PAGE:  # the pages that it speaks of are not there
    suppress_warnings += ["myst.xref_missing", "ref", "toc", "config"]
# Types of numpy, matplotlib and Python, as docstrings write them: the pages of others cannot be asked offline.
nitpick_ignore_regex = [(r"py:.*", r".*")]

# --- pages ---

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

# --- cells ---

nb_execution_mode = "auto"
nb_execution_in_temp = True
nb_execution_timeout = 600  # seconds of one cell, on a machine that has other work
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_ipywidgets_js = {}
# Cells find the command that is installed beside this Python; a command that fails fails its cell (profile_default/startup).
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]).rstrip(
    os.pathsep
)
os.environ["IPYTHONDIR"] = str(HERE / "site_extensions" / "ipython")
os.environ["TREECAST_DOCS"] = str(HERE)
os.environ |= {"COLUMNS": "110", "NO_COLOR": "1"}

# --- pictures ---

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "image_scrapers": (WrittenPictures(),),
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": (),
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "abort_on_example_error": True,
}
html_extra_path = ["_explorer"]
(HERE / "_explorer").mkdir(exist_ok=True)

# --- names of the package ---

autoapi_dirs = ["../src/treecast"]
autoapi_root = "api"
autoapi_add_toctree_entry = False
autoapi_member_order = "groupwise"
autoapi_python_class_content = "class"
autoapi_options = ["members", "show-inheritance", "imported-members"]
autoapi_file_patterns = ["*.pyi", "*.py"]  # the stub says which names are public, and where they come from
autoapi_keep_files = False
napoleon_google_docstring = False
napoleon_use_rtype = False

# --- how it looks ---

html_theme = "furo"
html_title = f"treecast {version}"
html_static_path = ["site_extensions/static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "tango", "monokai"


def leave_out(app, what, name, thing, skip, options):
    """Tell autoapi to write one page, that of the public names: modules are for those who read the code."""
    return True if what in ("module", "package") and name != "treecast" else skip


def setup(app):
    """Write the pages that are made from registries, before any page is read."""
    if PAGE:
        write_included(HERE / "reference" / "lists", PAGE)
        return
    app.connect("autoapi-skip-member", leave_out)
    if write_reference is not None:
        write_reference(HERE / "reference" / "lists")
        write_first_page(HERE / "_explorer" / "explorer")
