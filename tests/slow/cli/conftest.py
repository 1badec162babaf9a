"""What the slow tests of verbs share with the quick ones."""

from tests.cli.conftest import files as files
from tests.cli.conftest import made as made
