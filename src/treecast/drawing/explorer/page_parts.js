// Small helpers that every view uses: elements, names, colours, and the sends of a step.

import { eachMove, NEVER } from "./replay.js";
import { W } from "./words.js";

export const $ = (id) => document.getElementById(id);

/** Returns a new element; attributes that are functions listen to events. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function drawn(tag, attributes = {}, ...children) {
  return fill(document.createElementNS($("map").namespaceURI, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat());
  return element;
}

export function table(heads, rows, most = 400) {
  const line = (cells, tag) =>
    el(
      "tr",
      {},
      cells.map((cell) => el(tag, tag === "th" ? { scope: "col" } : {}, cell instanceof Node ? cell : `${cell}`)),
    );
  const found = el(
    "table",
    {},
    el("thead", {}, line(heads, "th")),
    el(
      "tbody",
      {},
      rows.slice(0, most).map((cells) => line(cells, "td")),
    ),
  );
  return rows.length > most ? el("div", {}, found, el("p", { class: "soft" }, `… ${rows.length - most}`)) : found;
}

export const colourName = (tree) => (tree < 0 ? "--accent" : `--t${tree % 7}`);
export const colour = (tree) => getComputedStyle(document.documentElement).getPropertyValue(colourName(tree)).trim();
export const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
/** Lines are told apart by dashes as well as by colours. */
export const dashes = (tree) => [[], [7, 3], [2, 3], [9, 3, 2, 3], [12, 4], [4, 4], [1, 4]][Math.max(tree, 0) % 7];

export function arcName(job, arc) {
  const u = Math.floor(arc / job.ports),
    v = job.neighbor[arc];
  return `${job.labels[u]} > ${job.labels[v]}`;
}

export function chunkRange(job, payload) {
  const atoms = [...job.payloadAtom.subarray(job.payloadStart[payload], job.payloadStart[payload + 1])];
  return (
    ranges(
      atoms.map((a) => [job.bounds[a], job.bounds[a + 1]]),
      4,
    ) || "control"
  );
}

/** Returns runs of chunks, [first, stop], in words: those behind one another as one. */
export function ranges(runs, most) {
  const joined = [];
  for (const [first, stop] of runs) {
    const last = joined[joined.length - 1];
    if (last && last[1] === first) last[1] = stop;
    else joined.push([first, stop]);
  }
  return W.few(
    joined.map(([first, stop]) => (stop - first > 1 ? `${first}–${stop - 1}` : `${first}`)),
    most,
  );
}

/** Returns what moves in a step: { row, chunk, flag } for each sending, those of shown data and visible trees. */
export function sendsAt(app, step) {
  const found = [];
  eachMove(app.run, ({ row, time, steps, chunk, flag, k }) => {
    if (!flag || step < time || step >= time + steps || !app.shown[app.run.base[k]]) return;
    const place = (step - time) / (app.part.shift[app.run.base[k]] || 1);
    if (!Number.isInteger(place)) return;
    if (!app.hidden.has(app.part.tree[row])) found.push({ row, chunk: chunk + place, flag, k });
  });
  const { part } = app;
  if (part.lengths) {
    for (let r = 0; r < part.rows; r++) {
      if (!part.payloadLength[part.payload[r]] && part.step[r] === step)
        found.push({ row: r, chunk: -1, flag: 3, k: -1 });
    }
  }
  return found;
}

/** Returns what a node is at a step: dead, liar, lacks, all, some or none. */
export function statusOf(app, node, step = app.step) {
  const { run } = app;
  if (run.nodeDies[node] <= step) return "dead";
  if (run.wants[node] && run.done[node] !== NEVER && run.done[node] <= step) return "all";
  return run.begun[node] <= step ? "some" : "none";
}

/** Returns the step from which each node has anything of what is shown. */
export function firstArrivals(app) {
  const { run, part } = app;
  const begun = new Int32Array(part.nodes).fill(NEVER);
  for (let k = 0; k < run.base.length; k++) {
    if (!app.shown[run.base[k]]) continue;
    for (let v = 0; v < part.nodes; v++) begun[v] = Math.min(begun[v], run.arrival[k * part.nodes + v]);
  }
  return begun;
}

/** Fills the table below a view when somebody opens it, and again when things change. */
export function tableBelow(name, make) {
  const details = document.querySelector(`details[data-table="${name}"]`);
  const place = el("div", { tabindex: "0", role: "region", "aria-label": details.firstChild.textContent });
  details.append(place);
  const show = () => details.open && place.replaceChildren(make());
  details.addEventListener("toggle", show);
  return show;
}
