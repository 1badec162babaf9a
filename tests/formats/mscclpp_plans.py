"""Small plans of MSCCL++ written by hand, and ways to alter any plan in one place."""

import json
import random

MEMORY = {"channel_type": "memory", "channel_ids": [0]}
NOP = {"name": "nop"}


def at(buffer, index=0, size=1):
    return {"type": buffer, "index": index, "size": size}


def there(index=0, size=1, buffer=0):
    return {"buffer_id": buffer, "index": index, "size": size}


def over(name, by="memory", ids=(0,)):
    return {"name": name, "channel_type": by, "channel_ids": list(ids)}


def move(name, sources, targets, **more):
    return {"name": name, "src_buff": sources, "dst_buff": targets, **more}


def put(source, target, **more):
    return move("put", [source], [target], channel_type="memory", **more)


MEETING = [over("rlxsignal"), over("rlxwait"), NOP]
"""Both GPUs have begun."""
TOLD = [NOP, over("signal"), over("wait"), NOP]
"""Both GPUs have done what they did."""


def gpu(g, peer, ops, chunks=(1, 2, 0), by="memory", remote="o"):
    """A GPU that is joined with another, whose threadblocks all use the same channel."""
    block = {
        "channels": [{"channel_type": by, "channel_ids": [0]}],
        "remote_buffer_refs": [{"access_channel_type": by, "remote_buffer_ids": [0]}],
    }
    return {
        "id": g,
        **dict(zip(("input_chunks", "output_chunks", "scratch_chunks"), chunks, strict=True)),
        "channels": [{"channel_type": by, "connected_to": [peer]}],
        "remote_buffers": [{"rank": peer, "type": remote, "access_channel_types": [by]}],
        "semaphores": [],
        "threadblocks": [{"id": t, **block, "ops": own} for t, own in enumerate(ops)],
    }


def plan(collective, ops, protocol="Simple", inplace=False, **more):
    """A plan of two GPUs: ``ops(g)`` are the operations of the threadblocks of each."""
    found = {
        "name": collective,
        "collective": collective,
        "protocol": protocol,
        "inplace": inplace,
        "reuse_resources": False,
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": 16,
        "min_message_size": 0,
        "max_message_size": 2**20,
        "gpus": [gpu(g, 1 - g, ops(g), **more) for g in (0, 1)],
    }
    return json.loads(json.dumps(found))  # nothing in it is shared


def gathered():
    """An allgather: each puts its input into the output of the other."""
    return plan(
        "allgather", lambda g: [[*MEETING, move("copy", [at("i")], [at("o", g)]), put(at("i"), there(g)), *TOLD]]
    )


def by_proxy():
    """The same through a port, whose proxy signals behind what it has moved."""
    sent = move("pws", [at("i")], [there(0)], channel_type="port", channel_ids=[0])

    def ops(g):
        begun = [over("rlxsignal", "port"), over("rlxwait", "port"), NOP, move("copy", [at("i")], [at("o", g)])]
        return [[*begun, {**sent, "dst_buff": [there(g)]}, over("wait", "port"), NOP]]

    return plan("allgather", ops, by="port")


def in_packets(adds="sum"):
    """An allreduce in place, in packets, without a signal."""
    added = move("repkt", [at("i"), at("s")], [at("i")], reduce_op=adds)
    sent = move("ppkt", [at("i")], [there()], channel_type="memory")
    return plan("allreduce", lambda g: [[sent, NOP, added]], "LL", True, chunks=(1, 1, 1), remote="s")


def shared():
    """The allgather with each put shared by two threadblocks that meet at a barrier, and a semaphore between them."""

    def ops(g):
        both = [put(at("i"), there(g), tbg_info={"tb_id": t, "tbg_size": 2}) for t in (0, 1)]
        meet = {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}
        own = [NOP, {"name": "sem_acquire", "semaphore_ids": [0]}, NOP, move("copy", [at("i")], [at("o", g)])]
        return [
            [*MEETING, meet, both[0], meet, over("signal"), over("wait"), *own],
            [meet, both[1], meet, {"name": "sem_release", "semaphore_ids": [0]}],
        ]

    found = plan("allgather", ops)
    for one in found["gpus"]:
        one["semaphores"] = [{"init_value": 0}]
    return found


def in_turns():
    """The allgather with the put in a pipeline that signals in each turn."""

    def ops(g):
        turn = [put(at("i"), there(g)), NOP, over("signal"), over("wait"), NOP]
        pipeline = {"name": "pipeline", "iter_context": {"unit_size": 4096, "num_chunks": 1}, "ops": turn}
        return [[*MEETING, move("copy", [at("i")], [at("o", g)]), pipeline]]

    return plan("allgather", ops)


def through_switch(name="signal"):
    """An allreduce in place through a switch: each GPU adds up one of two chunks for both."""
    told, both = over(name), {"switch_channel_id": 0, "size": 1}

    def ops(g):
        added = move("glres", [{**both, "index": g}], [{**both, "index": g}], channel_type="switch", reduce_op="sum")
        return [[*MEETING, added, NOP, told, {**told, "name": told["name"].replace("signal", "wait")}, NOP]]

    found = plan("allreduce", ops, inplace=True, chunks=(2, 2, 0))
    for one in found["gpus"]:
        group = {"size": 2, "ranks": [0, 1]}
        one["channels"].append({"channel_type": "switch", "buffer_type": "i", "rank_groups": [group]})
        one["threadblocks"][0]["channels"].append({"channel_type": "switch", "channel_ids": [0]})
    return found


RIGHT = {
    "gathered": gathered,
    "by proxy": by_proxy,
    "in packets": in_packets,
    "greatest": lambda: in_packets("max"),
    "shared": shared,
    "in turns": in_turns,
    "through a switch": through_switch,
}


def ops_of(found):
    """Return every list of operations of a plan, those of pipelines as well."""
    lists = [block["ops"] for one in found["gpus"] for block in one["threadblocks"]]
    return lists + [op["ops"] for own in lists for op in own if "ops" in op]


def altered(data, seed):
    """Return a plan altered in one place, and how: left out, doubled, swapped, or with another number or buffer."""
    chance, found = random.Random(seed), json.loads(data)
    while True:
        ops = chance.choice([own for own in ops_of(found) if own])
        k = chance.randrange(len(ops))
        places = [place for side in ("src_buff", "dst_buff") for place in ops[k].get(side, ())]
        match chance.choice(["left out", "doubled", "swapped", "index", "buffer", "channel", "semaphore"]):
            case "left out" as way:
                ops.pop(k)
            case "doubled" as way:
                ops.insert(k, json.loads(json.dumps(ops[k])))
            case "swapped" as way if k + 1 < len(ops) and ops[k] != ops[k + 1]:
                ops[k : k + 2] = ops[k + 1], ops[k]
            case "index" as way if places:
                chance.choice(places)["index"] += chance.choice((-1, 1))
            case "buffer" as way if any("type" in place for place in places):
                place = chance.choice([place for place in places if "type" in place])
                place["type"] = chance.choice([buffer for buffer in "ios" if buffer != place["type"]])
            case "channel" as way if ops[k].get("channel_ids"):
                ops[k]["channel_ids"][0] += 1
            case "semaphore" as way if ops[k].get("semaphore_ids"):
                ops[k]["semaphore_ids"][0] += chance.choice((-1, 1))
            case _:
                continue
        return json.dumps(found), way
