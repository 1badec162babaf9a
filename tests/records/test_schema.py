"""What ``treecast why --json`` prints is what its schema says, of every fault; and the schema refuses what it should."""

import json
from dataclasses import fields

import pytest

import treecast
from tests.records.jobs import FAULTS, make_job, write
from treecast.cli import main
from treecast.description import describe
from treecast.files.records.verdict import KINDS, Verdict

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": float, "boolean": bool}
WORDS = {"description", "title", "$schema", "$defs"}


@pytest.fixture
def schema(capsys):
    assert main(["help", "schema", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["why"]


def faults_of(value, rule, root, where="$"):
    """Return where a value breaks a schema, by the words of JSON Schema that this one uses; any other is an error."""
    found, rule = [], {**root["$defs"][rule["$ref"].rpartition("/")[2]], **rule} if "$ref" in rule else rule
    for word, says in rule.items():
        if word == "type":
            whole = isinstance(value, TYPES[says]) and (says == "boolean" or not isinstance(value, bool))
            if not whole:
                return [f"{where} is no {says}"]
        elif word == "enum":
            found += [f"{where} is not one of {says}"] if value not in says else []
        elif word == "minimum":
            found += [f"{where} is below {says}"] if value < says else []
        elif word in ("minItems", "maxItems"):
            found += (
                [f"{where} has {len(value)} items"]
                if (len(value) - says) * (1 if word == "maxItems" else -1) > 0
                else []
            )
        elif word == "required":
            found += [f"{where} lacks {name}" for name in says if name not in value]
        elif word == "additionalProperties":
            assert says is False
            found += [f"{where} has {name}, too" for name in value if name not in rule["properties"]]
        elif word == "properties":
            for name in says.keys() & value.keys():
                found += faults_of(value[name], says[name], root, f"{where}.{name}")
        elif word == "items":
            found += [fault for k, one in enumerate(value) for fault in faults_of(one, says, root, f"{where}[{k}]")]
        elif word == "prefixItems":
            for k, (one, its) in enumerate(zip(value, says, strict=False)):
                found += faults_of(one, its, root, f"{where}[{k}]")
        else:
            assert word in WORDS | {"$ref"}, word
    return found


def validate(value, schema):
    try:
        from jsonschema import Draft202012Validator
    except ModuleNotFoundError:
        return faults_of(value, schema, schema)
    Draft202012Validator.check_schema(schema)
    return faults_of(value, schema, schema) + [str(each) for each in Draft202012Validator(schema).iter_errors(value)]


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_printed_is_what_the_schema_says(tmp_path, capsys, schema, fault):
    dumps, _ = make_job(1, fault)
    folder = write(tmp_path / "records", dumps)
    (folder / "trace_rank_90").write_bytes(b"\x80\x02cos\nsystem\n.")
    for more in ([], ["--at", "0:1"]):
        main(["why", str(folder), "--taken", "2e9", "--json", *more])
        printed = json.loads(capsys.readouterr().out)
        assert validate(printed, schema) == []
        assert printed["refused"]
        assert "at" not in printed or printed["at"]


def test_the_schema_knows_every_kind_and_field(schema):
    verdict = schema["properties"]["verdicts"]["items"]
    assert set(verdict["properties"]["kind"]["enum"]) == set(KINDS)
    assert (
        {field.name for field in fields(Verdict)} - {"since"} == set(verdict["properties"]) == set(verdict["required"])
    )


def test_the_schema_refuses_what_is_not_so(schema):
    right = json.loads(json.dumps(dict(describe(treecast.why("examples/records", taken=2e9)).figures)))
    assert validate(right, schema) == []
    for change in (
        {"holds": 1},
        {"verdicts": []},
        {"verdicts": [{**right["verdicts"][0], "kind": "guilty"}]},
        {"waits": [[0, 1]]},
        {"ranks": -1},
        {"further": 0},
        {"notes": [3]},
    ):
        assert validate({**right, **change}, schema), change
    assert validate({name: value for name, value in right.items() if name != "clock"}, schema)
