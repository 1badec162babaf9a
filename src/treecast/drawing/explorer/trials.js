// Every single fault, tried one after the other: nodes and links that carry nothing from the start.

import { $, el, table } from "./page_parts.js";
import { replay } from "./replay.js";
import { change } from "./state.js";
import { W } from "./words.js";

/** Returns every single fault as { name, nodes, arcs }: nodes but the root of all data, then links. */
export function singleFaults(job) {
  const found = [];
  for (let u = 0; u < job.nodes; u++) {
    if (u !== job.root || job.allSource) found.push({ name: job.labels[u], nodes: new Map([[u, 0]]), arcs: new Map() });
  }
  const nodes = found.length,
    seen = new Map();
  for (let arc = 0; arc < job.neighbor.length; arc++) {
    const u = Math.floor(arc / job.ports),
      v = job.neighbor[arc];
    if (v < 0) continue;
    // of parallel cables the first goes with the first: both count the arcs before them
    const key = `${Math.min(u, v)} ${Math.max(u, v)}`,
      mine = `${u} ${v}`;
    const cables = seen.get(key) ?? [];
    const partner = cables.find((one) => one.arcs.size === 1 && one.from !== mine);
    if (partner) partner.arcs.set(arc, 0);
    else {
      const fault = {
        name: `${job.labels[u]}-${job.labels[v]}`,
        nodes: new Map(),
        arcs: new Map([[arc, 0]]),
        from: mine,
      };
      seen.set(key, [...cables, fault]);
      found.push(fault);
    }
  }
  return { faults: found, nodes };
}

/** Tries every single fault, a few at a time so that the page stays awake; returns how many nodes each starves. */
async function tryAll(app, say) {
  const { faults, nodes } = singleFaults(app.part),
    starved = [];
  let until = performance.now() + 40;
  for (const fault of faults) {
    starved.push(replay(app.part, fault).lacking.length);
    if (performance.now() < until) continue;
    say(`${starved.length} of ${faults.length} …`);
    await new Promise((awake) => setTimeout(awake));
    until = performance.now() + 40;
  }
  return { faults, nodes, starved };
}

export function trials(app) {
  const place = $("trials");
  let trying = null;
  const tried = () => {
    if (trying?.part === app.part) return trying.result;
    const say = (text) => {
      $("moves").textContent = text;
    };
    trying = { part: app.part, result: tryAll(app, say) };
    return trying.result;
  };
  const take = ({ nodes, arcs }) =>
    change(app, { nodes: new Map(nodes), arcs: new Map(arcs), liars: new Map(), faults: true, step: app.job.span });
  $("worst").addEventListener("click", async () => {
    const { faults, starved } = await tried();
    const worst = starved.indexOf(Math.max(...starved));
    if (starved[worst]) take(faults[worst]);
    change(app, { message: W.worst(faults[worst]?.name, starved[worst]) });
  });
  $("all").addEventListener("click", async () => {
    const { faults, nodes, starved } = await tried();
    const order = [...starved.keys()].filter((i) => starved[i]).sort((i, j) => starved[j] - starved[i]);
    const rows = order.map((i) => [el("button", { click: () => take(faults[i]) }, faults[i].name), starved[i]]);
    const harmless = faults.length - order.length;
    place.replaceChildren(
      el("h2", {}, W.single(faults.length, nodes, faults.length - nodes, harmless)),
      ...(rows.length ? [table([W.columns.fault, W.columns.starve], rows, 60)] : []),
    );
    place.hidden = false;
    change(app, { message: "" });
  });
}
