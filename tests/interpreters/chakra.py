"""Chakra's execution traces, decoded from the bytes up and carried out.

A file for each rank: each message behind its length as a varint, first the metadata (1: version), then nodes (1: id, 2: name,
3: type, 5: data dependencies, 7: microseconds, 10: attributes). An attribute has a name (1) and one value: 7 is an int32, 9 an
int64, 27 a bool. A type is 4 to compute, 5 to send, 6 to receive. Readers take a value of another type as 0.
"""

from tests.interpreters.memory import WrongError
from tests.interpreters.operations import Run

WORDS = {4: "calc", 5: "send", 6: "recv"}
FIELDS = {"comm_size": 9, "comm_src": 7, "comm_dst": 7, "comm_tag": 7, "is_cpu_op": 27}


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data):
            raise WrongError("the file is cut off")
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def pieces(data):
    """Return the messages of a file, each behind its length."""
    at, found = 0, []
    while at < len(data):
        length, at = varint(data, at)
        if at + length > len(data):
            raise WrongError("the file is cut off")
        found.append(data[at : at + length])
        at += length
    return found


def fields(message):
    """Return {field: values} of a message: numbers of wire type 0, bytes of wire type 2."""
    at, found = 0, {}
    while at < len(message):
        key, at = varint(message, at)
        value, at = varint(message, at)
        if key & 7 == 2:
            if at + value > len(message):
                raise WrongError("a message is cut off")
            value, at = message[at : at + value], at + value
        elif key & 7:
            raise WrongError(f"wire type {key & 7} is not used")
        found.setdefault(key >> 3, []).append(value)
    return found


def attributes(node):
    """Return {name: value}: 0 where the value is not of the type that readers expect."""
    found = {}
    for one in node.get(10, []):
        said = fields(one)
        name = said[1][0].decode()
        found[name] = said.get(FIELDS.get(name, 0), [0])[0]
        if name == "is_cpu_op" and 27 not in said:
            raise WrongError("is_cpu_op has no value")
    return found


def parsed(files):
    """Return what ``Run`` takes from {name: bytes}."""
    ranks = []
    for rank in range(len(files)):
        head, *nodes = pieces(files[f"rank.{rank}.et"])
        if fields(head).get(1) != [b"0.0.4"]:
            raise WrongError("the file does not say its version")
        operations, requires = {}, []
        for message in nodes:
            node = fields(message)
            number, word, said = node[1][0], WORDS.get(node.get(3, [0])[0], ""), attributes(node)
            if number in operations or not word or said["is_cpu_op"]:
                raise WrongError(f"rank {rank}: node {number} is there twice, or of no known type")
            if word != "calc" and said["comm_src" if word == "send" else "comm_dst"] != rank:
                raise WrongError(f"rank {rank}: node {number} is another rank's")
            peer = said.get("comm_dst" if word == "send" else "comm_src", 0)
            operations[number] = (word, peer, said.get("comm_tag", 0), said.get("comm_size", 0))
            at, waits = 0, b"".join(node.get(5, []))
            while at < len(waits):
                other, at = varint(waits, at)
                if other not in operations:
                    raise WrongError(f"rank {rank}: node {number} depends on {other}, which is not there yet")
                requires.append((number, other))
        ranks.append((operations, requires))
    return ranks


def interpret(files, schedule, sizes):
    """Carry out traces; return when the last message ends. Raise WrongError when they do not deliver all that they should."""
    return Run(parsed(files), schedule, sizes).run()
