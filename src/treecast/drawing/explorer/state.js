// One state for all views: the step, what is chosen and what fails. It stands in the address, so that a link shows the same.

import { judgeLies } from "./lies.js";
import { partOf } from "./orbit.js";
import { replay } from "./replay.js";

export function createApp(job) {
  const faults = { nodes: new Map(job.faults?.nodes), arcs: new Map(job.faults?.arcs) };
  const source = !job.allSource || sourcesOf(job).includes(job.root) ? job.root : -1;
  return {
    job,
    part: job,
    run: null,
    lies: null,
    views: [],
    message: "",
    step: 0,
    chosen: job.root,
    hovered: -1,
    chunk: 0,
    source,
    hidden: new Set(),
    liars: new Map(),
    playing: false,
    ...faults,
  };
}

/** Returns the nodes that data comes from: of an orbit every node, of sums those that complete them. */
export function sourcesOf(job) {
  if (job.orbit) return job.labels.map((_, u) => u);
  return [...new Set(job.source)].filter((u) => u >= 0).sort((a, b) => a - b);
}

/** Takes a change in; replays when what fails or whose data is shown has changed; tells every view. */
export function change(app, what = {}) {
  const again = !app.run || what.faults || ("source" in what && what.source !== app.source);
  const { faults, ...rest } = what;
  Object.assign(app, rest);
  app.step = Math.max(0, Math.min(app.step, app.job.span));
  if (again) {
    app.part = app.job.orbit ? partOf(app.job, app.source) : app.job;
    app.run = replay(app.part, { nodes: app.nodes, arcs: app.arcs });
    app.lies = app.liars.size ? judgeLies(app.part, app.liars, app.run) : null;
    app.shown = shownAtoms(app);
  }
  for (const update of app.views) update(app, again);
  remember(app);
}

/** Returns which atoms are shown: those of one source where every node is one; else all. */
function shownAtoms(app) {
  const { job, part } = app;
  const one = job.allSource && !job.orbit && app.source >= 0;
  return Uint8Array.from(part.source, (source) => (!one || source === app.source ? 1 : 0));
}

/** Kills a node at the step shown, or revives it. */
export function toggleNode(app, node, step = app.step) {
  const { job, nodes } = app;
  if (nodes.has(node)) nodes.delete(node);
  else if (step === 0 && !job.allSource && node === job.root) return "root";
  else nodes.set(node, step);
  change(app, { faults: true, chosen: node });
  return "";
}

export function toggleArc(app, arc, step = app.step) {
  if (app.arcs.has(arc)) app.arcs.delete(arc);
  else app.arcs.set(arc, step);
  change(app, { faults: true });
}

export function toggleLiar(app, node) {
  if (app.liars.has(node)) app.liars.delete(node);
  else app.liars.set(node, app.step);
  change(app, { faults: true, chosen: node });
}

const spell = (map) => [...map].map(([what, step]) => (step ? `${what}@${step}` : `${what}`)).join(",");

function read(text, most) {
  const pairs = (text ?? "")
    .split(",")
    .filter(Boolean)
    .map((word) => word.split("@").map(Number));
  return new Map(pairs.filter(([what]) => what >= 0 && what < most).map(([what, step]) => [what, step || 0]));
}

function remember(app) {
  const parts = {
    t: app.step,
    n: app.chosen,
    k: spell(app.nodes),
    c: spell(app.arcs),
    l: spell(app.liars),
    x: [...app.hidden].join(","),
    i: app.chunk || "",
  };
  if (app.job.allSource) parts.s = app.source;
  const text = Object.entries(parts)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${key}=${value}`)
    .join("&");
  app.address = `#${text}`;
  try {
    history.replaceState(null, "", app.address);
  } catch {
    // inside a notebook there is no address to keep
  }
}

/** Takes the state out of an address, if it has one. */
export function recall(app, address) {
  const found = Object.fromEntries(
    address
      .slice(1)
      .split("&")
      .map((part) => part.split("=")),
  );
  const { nodes, ports } = app.job;
  const number = (text, most, otherwise) =>
    /^-?\d+$/.test(text ?? "") && Number(text) < most ? Number(text) : otherwise;
  if (!("t" in found)) return;
  app.step = number(found.t, app.job.span + 1, 0);
  app.chosen = number(found.n, nodes, app.chosen);
  app.source = number(found.s, nodes, app.source);
  app.nodes = read(found.k, nodes);
  if (!app.job.allSource && app.nodes.get(app.job.root) === 0) app.nodes.delete(app.job.root);
  app.arcs = read(found.c, nodes * ports);
  app.liars = canLie(app.job) ? read(found.l, nodes) : new Map();
  app.chunk = Math.max(0, number(found.i, app.job.bounds[app.job.atoms], 0));
  app.hidden = new Set((found.x ?? "").split(",").filter(Boolean).map(Number));
}

export function canLie(job) {
  return !job.sums && !job.sparing;
}
