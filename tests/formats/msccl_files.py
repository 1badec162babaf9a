"""MSCCL files written short.

``gpu I O S``, ``tb SEND RECV [CHAN]``, ``TYPE SRC DST [xCNT] [after TB.STEP] [flag]``; SRC and DST as in ``o3``.
"""


def spelled(text, coll, gpus, loop, proto="Simple", inplace=0, outofplace=1, channels=4, name="file"):
    """Return the file that a short text says."""
    lines = [
        f'<algo name="{name}" proto="{proto}" nchannels="{channels}" nchunksperloop="{loop}" ngpus="{gpus}" coll="{coll}" '
        f'inplace="{inplace}" outofplace="{outofplace}" minBytes="0" maxBytes="1073741824">'
    ]
    inside, gpu, tb, step = [], -1, -1, -1
    for line in filter(None, map(str.strip, text.replace(";", "\n").splitlines())):
        word, *rest = line.split()
        while inside and (word == "gpu" or (word == "tb" and inside[-1] == "tb")):
            lines.append(f"</{inside.pop()}>")
        if word == "gpu":
            gpu, tb = gpu + 1, -1
            inside.append("gpu")
            lines.append('<gpu id="{}" i_chunks="{}" o_chunks="{}" s_chunks="{}">'.format(gpu, *rest))
        elif word == "tb":
            tb, step = tb + 1, -1
            inside.append("tb")
            send, recv, chan = [*rest, "0"][:3]
            lines.append(f'<tb id="{tb}" send="{send}" recv="{recv}" chan="{chan}">')
        else:
            step += 1
            src, dst = ("i0", "o0") if word == "nop" else rest[:2]
            cnt = next((part[1:] for part in rest if part.startswith("x")), "1")
            after = rest[rest.index("after") + 1].split(".") if "after" in rest else ("-1", "-1")
            lines.append(
                f'<step s="{step}" type="{word}" srcbuf="{src[0]}" srcoff="{src[1:]}" dstbuf="{dst[0]}" dstoff="{dst[1:]}" '
                f'cnt="{cnt}" depid="{after[0]}" deps="{after[1]}" hasdep="{int("flag" in rest)}"/>'
            )
    lines += [f"</{word}>" for word in reversed(inside)]
    return "\n".join([*lines, "</algo>"]).encode()


def ring_allreduce(n, inplace=1, proto="Simple"):
    """In the style of msccl-tools: one threadblock for each GPU, fused steps, input and output in one buffer."""
    text = ""
    for g in range(n):
        text += f"gpu {n} {n if not inplace else 0} 0\ntb {(g + 1) % n} {(g - 1) % n}\ns i{g} i{g}\n"
        text += "".join(f"rrs i{(g - k) % n} i{(g - k) % n}\n" for k in range(1, n - 1))
        text += f"rrcs i{(g + 1) % n} i{(g + 1) % n}\n"
        text += "".join(f"rcs i{(g - k) % n} i{(g - k) % n}\n" for k in range(n - 2))
        text += f"r i{(g + 2) % n} i{(g + 2) % n}\n"
    return spelled(text, "allreduce", n, n, proto, inplace=1, outofplace=0)


def relayed_allgather(proto="Simple"):
    """In the style of TACCL: a path 0-1-2 whose middle relays, with several waits before one step."""
    return spelled(
        """
        gpu 1 3 0
        tb 1 -1
        s i0 o0
        tb -1 1
        r i0 o1
        r o2 o2
        tb -1 -1
        cpy i0 o0
        gpu 1 3 0
        tb -1 0
        r i0 o0 flag
        tb -1 2
        r i0 o2 flag
        tb 0 -1
        s i0 o1
        s o2 o2 after 1.0
        tb 2 -1
        nop after 1.0
        s o0 o0 after 0.0
        s i0 o1
        tb -1 -1
        cpy i0 o1
        gpu 1 3 0
        tb 1 -1
        s i0 o2
        tb -1 1
        r o0 o0
        r i0 o1
        tb -1 -1
        cpy i0 o2
        """,
        "allgather",
        3,
        3,
        proto,
    )


def matched_allgather(n=4):
    """In the style of ForestColl and TACOS: a threadblock for each peer and way, chunks that wait for their arrival."""
    text = ""
    for g in range(n):
        others = [h for h in range(n) if h != g]
        text += f"gpu 1 {n} 0\n"
        text += "".join(f"tb {h} -1\ns i0 o{g}\n" for h in others) + "".join(f"tb -1 {h}\nr i0 o{h}\n" for h in others)
        text += f"tb -1 -1\ncpy i0 o{g}\n"
    return spelled(text, "allgather", n, n)


RIGHT = {
    "msccl-tools": ring_allreduce(4),
    "msccl-tools, without what newer readers want": ring_allreduce(3).replace(
        b' outofplace="0" minBytes="0" maxBytes="1073741824"', b""
    ),
    "TACCL": relayed_allgather(),
    "TACCL, LL128": relayed_allgather("LL128"),
    "ForestColl": matched_allgather(),
    "RCCL's spelling": spelled(
        "gpu 2 1 0\ntb 1 1\ns i1 o0\nrrc i0 o0\ngpu 2 1 0\ntb 0 0\ns i0 o0\nrrc i1 o0", "reducescatter", 2, 2
    ),
    "alltoall": spelled(
        "gpu 2 2 0\ntb 1 1\ns i1 o0\nr i0 o1\ntb -1 -1\ncpy i0 o0\ngpu 2 2 0\ntb 0 0\ns i0 o1\nr i1 o0\ntb -1 -1\ncpy i1 o1",
        "alltoall",
        2,
        2,
    ),
    "reduce": spelled(
        "gpu 1 1 1\ntb -1 1\nr i0 s0 flag\ntb -1 -1\ncpy i0 o0\nre s0 o0 after 0.0\ngpu 1 0 0\ntb 0 -1\ns i0 o0",
        "reduce",
        2,
        1,
    ),
}
"""Right files, by who writes such."""

WRONG = {
    "shape": ("broadcast", 2, 1, "", "gpu 1 1 0; tb 1 -1; s i0 o0; gpu 1 1 0; tb -1 0; r i0 o1"),
    "pairs": ("broadcast", 2, 1, "", "gpu 1 1 0; tb 1 -1; s i0 o0; s i0 o0; gpu 1 1 0; tb -1 0; r i0 o0"),
    "signalled": (
        *("broadcast", 2, 1, ""),
        "gpu 1 1 0; tb 1 -1; s i0 o0; gpu 1 1 1; tb -1 0; r i0 o0; tb -1 -1; cpy o0 s0 after 0.0",
    ),
    "order": ("allgather", 2, 2, "", "gpu 0 2 0; tb 1 1; r o1 o1; s o0 o0; gpu 0 2 0; tb 0 0; r o0 o0; s o1 o1"),
    "in-flight": (
        *("allgather", 2, 6, ""),
        "gpu 0 6 0; tb 1 1; s o0 o0 x3; r o3 o3 x3; gpu 0 6 0; tb 0 0; s o3 o3 x3; r o0 o0 x3",
    ),
    "race": ("broadcast", 2, 1, "", "gpu 1 1 0; tb 1 -1; s i0 o0; gpu 1 1 1; tb -1 0; r i0 o0; tb -1 -1; cpy o0 s0"),
    "undefined": ("broadcast", 2, 1, "", "gpu 1 1 1; tb 1 -1; s i0 o0; gpu 1 1 2; tb -1 0; r i0 o0; cpy s0 s1"),
    "delivered": ("reduce", 2, 1, "", "gpu 1 1 0; tb -1 1; r i0 o0; gpu 1 0 0; tb 0 -1; s i0 o0"),
    "adjacent": (
        *("broadcast", 3, 1, "path:3"),
        "gpu 1 1 0; tb 1 -1; s i0 o0; tb 2 -1; s i0 o0; gpu 1 1 0; tb -1 0; r i0 o0; gpu 1 1 0; tb -1 0; r i0 o0",
    ),
    "link-once": (
        *("broadcast", 2, 2, "path:2"),
        "gpu 2 2 0; tb 1 -1 0; s i0 o0; tb 1 -1 1; s i1 o1; gpu 2 2 0; tb -1 0 0; r i0 o0; tb -1 0 1; r i1 o1",
    ),
}
"""For each rule a file that breaks this one alone: its collective, GPUs, chunks and network, and what it says."""


def broken(rule):
    """Return the file that breaks one rule alone, and the network that it is judged on."""
    coll, gpus, loop, network, text = WRONG[rule]
    return spelled(text, coll, gpus, loop, inplace=1, outofplace=0, channels=2, name=rule), network or None
