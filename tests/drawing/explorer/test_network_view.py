"""The page's network, drawn by node without a browser: all within the frame, arrows that lead where data goes, labels apart."""

import itertools
import re

import networkx as nx
import numpy as np
import pytest

import treecast
from tests.drawing.explorer.cases import MODULES, run_in_node
from treecast.drawing.explorer.page import columns_of, facts_of, packed

STUB = """
class Element {
  constructor(tag) {
    Object.assign(this, { tag, attributes: {}, children: [], text: "", style: { setProperty: (k, v) => (this[k] = v) } });
    this.className = { baseVal: "" };
  }
  get firstChild() { return this.children[0] ?? { textContent: "" }; }
  append(...some) { this.children.push(...some); }
  replaceChildren(...some) { this.children = some; }
  setAttribute(name, value) { this.attributes[name] = `${value}`; }
  addEventListener() {}
}
const known = {};
globalThis.document = {
  createElement: (tag) => new Element(tag),
  createElementNS: (_, tag) => new Element(tag),
  getElementById: (id) => (known[id] ??= new Element(id)),
  querySelector: () => new Element("details"),
};
"""
DRAW = f"""
import {{ unpack }} from "{MODULES}/data.js";
import {{ derive }} from "{MODULES}/main.js";
import {{ networkView }} from "{MODULES}/network.js";
import {{ change, createApp }} from "{MODULES}/state.js";
import fs from "node:fs";
const found = [];
for (const data of JSON.parse(fs.readFileSync(0, "utf8"))) {{
  for (const id of Object.keys(known)) delete known[id];
  const app = createApp(await unpack(data)), map = document.getElementById("map");
  map.attributes.viewBox = "0 0 1000 640";
  derive(app);
  networkView(app);
  const steps = [];
  for (let step = 0; step <= app.job.span; step++) {{
    change(app, {{ step }});
    const all = [], walk = (one) => {{
      for (const child of one.children ?? []) {{
        if (child.tag === "path" || child.tag === "text" || child.tag === "circle")
          all.push([child.tag, {{ ...one.attributes, ...child.attributes }}, child.children.join("")]);
        walk(child);
      }}
    }};
    walk(map);
    steps.push(all);
  }}
  found.push({{ frame: map.attributes.viewBox, thick: Number(map["--thick"]), steps }});
}}
console.log(JSON.stringify(found));
"""
FEW = ("star:4", "torus:3x3", "path:12", "mesh:3x4", "tree:3,2", "debruijn:2,4", "petersen")
TALL, LETTER = 13, 7.8  # pixels, and how wide they are


def rails(hosts=4, cards=8):
    """A cluster: the cards of a host share a switch by fat links, and cards of one number a rail."""
    graph = nx.Graph()
    for host, card in itertools.product(range(hosts), range(cards)):
        graph.add_edge(f"h{host}g{card}", f"nvswitch{host}", capacity=9)
        graph.add_edge(f"h{host}g{card}", f"rail{card}", capacity=1)
    nx.set_node_attributes(graph, {node: node[0] in "nr" for node in graph}, "relay")
    return treecast.network(graph)


def drawn(schedules, faults=lambda _: {}):
    return run_in_node(STUB + DRAW, [packed(facts_of(one) | faults(one), columns_of(one)) for one in schedules])


def three_arcs(schedule):
    """Return faults of a page: two nodes, and the first arcs that there are."""
    arcs = np.flatnonzero(schedule.network.neighbor_table().ravel() >= 0)[:3]
    return {"faults": {"nodes": [[1, 0], [2, 1]], "arcs": [[arc, 0] for arc in arcs.tolist()]}}


def pictures_of(specs, *more):
    """Return schedules and what the page draws of them: broadcasts on networks, one of wormholes, and others."""
    schedules = [treecast.plan("broadcast", spec, messages=12) for spec in specs]
    schedules += [treecast.plan("broadcast", "mesh:4x4", model="wormhole"), *more]
    return list(zip(schedules, drawn(schedules, three_arcs), strict=True))


def labels_that_lie_apart(pictures):
    """Return how many labels chunks have, none of which lies on another."""
    labels = 0
    for schedule, picture in pictures:
        for step, shown in enumerate(picture["steps"]):
            chunks = [one for one in shown if one[1].get("class") == "chunk"]
            labels += len(chunks)
            for one, other in itertools.combinations(chunks, 2):
                gap = [abs(float(one[1][side]) - float(other[1][side])) for side in "xy"]
                wide = LETTER * (len(one[2]) + len(other[2])) / 2
                assert gap[0] >= wide or gap[1] >= TALL, (schedule.network.spec, step, one, other)
    return labels


def test_no_label_of_a_chunk_lies_on_another():
    assert labels_that_lie_apart(pictures_of(FEW)) > 100


LARGER = (
    *("hypercube:4", "hypercube:5", "torus:4x4", "torus:5x6", "torus:6x6", "torus:3x3x3", "torus:4x4x4", "ring:9"),
    *("complete:7", "fat-tree:4", "dragonfly:4,2", "circulant:16,1,5", "hyperx:3x3x3", "random-regular:24,4,1"),
)


@pytest.fixture(scope="module")
def pictures():
    more = treecast.plan("alltoall", "torus:4x4"), treecast.plan("broadcast", rails(), messages=64)
    return pictures_of(FEW + LARGER, *more)


def curves(text):
    """Return the points of each curve of a path, float64 (points, 2), by the rules of SVG."""
    found = []
    at = np.zeros(2)
    for letter, rest in re.findall(r"([MLQlZ])([^MLQlZ]*)", text):
        points = np.array([float(word) for word in rest.split()]).reshape(-1, 2)
        t = np.linspace(0, 1, 41)[:, None]
        if letter == "M":
            found.append([points])
        elif letter == "Q":
            found[-1].append((1 - t) ** 2 * at + 2 * t * (1 - t) * points[0] + t * t * points[1])
        elif letter != "Z":
            points = points + (at if letter == "l" else 0)
            found[-1].append(points)
        at = points[-1] if len(points) else at
    return [np.concatenate(parts) for parts in found]


def box(tag, look, words, thick):
    """Return the corners of what is drawn: float64 (corners, 2)."""
    if tag == "path":
        return np.concatenate([*curves(look["d"]), np.empty((0, 2))]), 0.0 if look["class"] == "head" else thick / 2
    moved = re.findall(r"-?[\d.]+", look["transform"]) if "transform" in look else (look["x"], look["y"])
    at = np.array([float(side) for side in moved])
    if "transform" in look:
        at[1] += float(look.get("y", 0))  # of a label above or below its node
    if tag == "circle":
        return at[None], float(look["r"])
    size = float(look.get("font-size", TALL))
    half = np.array([0.6 * size * len(words) / 2, size / 2])
    return np.stack([at - half, at + half]), 0.0


@pytest.mark.slow
def test_no_label_of_a_chunk_lies_on_another_at_length(pictures):
    assert labels_that_lie_apart(pictures) > 1000


@pytest.mark.slow
def test_everything_lies_within_the_frame(pictures):
    for schedule, picture in pictures:
        left, top, width, height = map(float, picture["frame"].split())
        for step, shown in enumerate(picture["steps"]):
            for tag, look, words in shown:
                points, around = box(tag, look, words, picture["thick"])
                if len(points):
                    low, high = points.min(axis=0) - around, points.max(axis=0) + around
                    where = (schedule.network.spec, step, tag, look, words)
                    assert (low >= (left, top)).all(), where
                    assert (high <= (left + width, top + height)).all(), where


@pytest.mark.slow
@pytest.mark.parametrize("where", ["star:4", "torus:4x4", "path:12", "rails"])
def test_arrows_lead_from_who_sends_to_who_gets(where):
    """The shafts of a step join the ends of its rows, and the head of each points to the node that gets."""
    schedule = treecast.plan("broadcast", rails() if where == "rails" else where, messages=5)
    rows, (picture,) = schedule.rows, drawn([schedule])
    span = np.maximum(rows.steps, 1)
    for step, shown in enumerate(picture["steps"]):
        at = [np.array(re.findall(r"-?[\d.]+", look["transform"]), float) for tag, look, _ in shown if tag == "circle"]
        radius = next(float(look["r"]) for tag, look, _ in shown if tag == "circle")
        shafts = [curve for _, look, _ in shown if look.get("class") == "moving" for curve in curves(look["d"])]
        heads = [curve for _, look, _ in shown if look.get("class") == "head" for curve in curves(look["d"])]
        assert len(heads) == len(shafts)
        found = set()
        for shaft, (tip, left, right) in zip(shafts, heads, strict=True):
            ends = [int(np.argmin(np.hypot(*(np.array(at) - end).T))) for end in (shaft[0], shaft[-1])]
            found.add(tuple(ends))
            assert np.hypot(*(tip - at[ends[1]])) < radius + 6
            assert np.hypot(*((left + right) / 2 - shaft[-1])) > np.hypot(*(tip - shaft[-1]))
        now = (rows.step <= step) & (step < rows.step + span)
        assert found == set(zip(rows.src[now].tolist(), rows.dst[now].tolist(), strict=True))
