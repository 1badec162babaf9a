"""The page's network, drawn by node without a browser: all within the frame, arrows that lead where data goes, labels apart."""

import itertools

import networkx as nx
import numpy as np

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
