"""One description of each result, which JSON, the terminal and a notebook read alike.

Whoever adds a kind of result registers beside it how it is described, and nothing else:

>>> class Toss(Described):
...     heads = 7
>>> @describe.register
... def _(toss: Toss) -> Description:
...     return Description({"heads": toss.heads}, {"heads": count_of(toss.heads, "toss")})
>>> describe(Toss()).figures
{'heads': 7}
"""

from treecast.description.description import (
    MOST_ROWS,
    Described,
    Description,
    Mark,
    Table,
    describe,
    node_table,
    values_of,
)
from treecast.description.words import count_of, list_few, spell, spell_counts, spell_range, spell_ranges

__all__ = [
    "MOST_ROWS",
    "Described",
    "Description",
    "Mark",
    "Table",
    "count_of",
    "describe",
    "list_few",
    "node_table",
    "spell",
    "spell_counts",
    "spell_range",
    "spell_ranges",
    "values_of",
]
