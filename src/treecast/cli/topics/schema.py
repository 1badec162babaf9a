"""The fields of ``treecast why --json``; with --json their JSON Schema itself."""

import json
from dataclasses import replace
from importlib.resources import files

from treecast.description import Description, Table


def topic() -> Description:
    """Return the schema of what ``why`` prints, and a table of its fields."""
    schema = json.loads(files("treecast.records").joinpath("why.schema.json").read_text("utf-8"))
    verdict = schema["properties"]["verdicts"]["items"]["properties"]
    fields = {**schema["properties"], **{f"verdicts[].{name}": about for name, about in verdict.items()}}
    rows = [(name, about["description"]) for name, about in fields.items()]
    return replace(Table(("field", "means"), rows, of="fields").alone(), figures=schema)
