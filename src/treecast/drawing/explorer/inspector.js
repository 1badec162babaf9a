// The chosen node: its state, the paths by which it gets its data, its rows, and the load of its links.

import { loads } from "./lies.js";
import { kill } from "./network.js";
import { $, arcName, chunkRange, colourName, el, statusOf, table } from "./page_parts.js";
import { NEVER } from "./replay.js";
import { canLie, change, toggleArc, toggleLiar } from "./state.js";
import { wayTo } from "./trees.js";
import { W } from "./words.js";

export function inspector(app) {
  const place = $("inspector");
  let shown = "";
  app.views.push((_, again) => {
    const key = `${app.chosen} ${app.step} ${app.chunk}`;
    if (!again && key === shown) return;
    shown = key;
    const focus = document.activeElement?.dataset?.act;
    place.replaceChildren(...contents(app));
    if (focus) place.querySelector(`[data-act="${focus}"]`)?.focus();
  });
}

function contents(app) {
  const { job, run, chosen } = app,
    label = job.labels[chosen];
  const status = app.liars.has(chosen) ? "liar" : statusOf(app, chosen);
  const parts = [el("h2", {}, `Node ${label}`), el("p", {}, stateText(app, status)), el("p", {}, ...buttons(app))];
  const ways = waysList(app);
  if (ways.length) parts.push(el("h3", {}, "Paths from the root"), el("ul", { class: "ways" }, ways));
  parts.push(...chunkWay(app));
  parts.push(el("h3", {}, "Links"), linkTable(app), el("h3", {}, "Sends and receptions"), rowTable(app));
  if (run.nodeDies[chosen] !== NEVER)
    parts.splice(2, 0, el("p", { class: "broken" }, W.fault(label, run.nodeDies[chosen])));
  return parts;
}

function stateText(app, status) {
  const { job, part, run, chosen } = app,
    words = [];
  if (chosen === part.root) words.push(W.status.root);
  if (job.isRelay[chosen]) words.push(W.status.relay);
  words.push(W.status[status]);
  if (run.lacks[chosen]) words.push(`lacks ${W.many(run.lacks[chosen], "chunk")} at the end`);
  else if (run.wants[chosen] && run.done[chosen] !== NEVER) words.push(`complete from step ${run.done[chosen]}`);
  return `${words.join(", ")}.`;
}

function buttons(app) {
  const { chosen, job } = app,
    dead = app.nodes.has(chosen);
  const kills = el(
    "button",
    { "data-act": "kill", click: () => kill(app, chosen) },
    dead ? "revive" : `kill at step ${app.step}`,
  );
  if (!canLie(job)) return [kills];
  const lies = app.liars.has(chosen) ? "make it honest" : `make it lie from step ${app.step}`;
  return [kills, " ", el("button", { "data-act": "lie", click: () => toggleLiar(app, chosen) }, lies)];
}

function waysList(app) {
  const { job, chosen, run } = app;
  return app.grown
    .map((one) => {
      const way = wayTo(one, chosen);
      if (way.length < 2) return "";
      const whole = way.every((u) => one.above[u] < 0 || app.rowCarries[one.row[u]] >= app.rowPlanned[one.row[u]]);
      const names = way.map((u) =>
        run.nodeDies[u] === NEVER ? job.labels[u] : el("s", { class: "broken" }, job.labels[u]),
      );
      const spaced = names.flatMap((name, i) => (i ? [" › ", name] : [name]));
      const mark = el("b", { class: "mark", style: `--colour: var(${colourName(one.tree)})` }, `${W.tree(one.tree)}: `);
      return el("li", {}, mark, ...spaced, " ", el("span", { class: whole ? "whole" : "broken" }, `(${W.way(whole)})`));
    })
    .filter(Boolean);
}

/** Shows by which path a chunk comes to the chosen node first, and when it is at each node of the path. */
function chunkWay(app) {
  const { job, chosen } = app;
  const input = el("input", {
    type: "number",
    min: 0,
    max: lastChunk(app.part),
    value: app.chunk,
    "data-act": "chunk",
    change: () => change(app, { chunk: Math.max(0, Math.min(Math.floor(Number(input.value)), lastChunk(app.part))) }),
  });
  const stops = wayOfChunk(app.part, app.run, app.chunk, chosen);
  const words = stops.map(([u, step]) => `${job.labels[u]} ${step ? W.from(step) : W.fromStart}`).join(" › ");
  return [
    el("p", {}, el("label", {}, `${W.wayOf} `, input)),
    el("p", { class: "way-of-chunk" }, words || W.neverComes),
  ];
}

export const lastChunk = (part) => part.bounds[part.atoms] - 1;

/** Returns the nodes by which a chunk comes to a node first, [node, the step from which it is there]; none if it never comes. */
export function wayOfChunk(part, run, chunk, node) {
  const k = run.base.findIndex((a, i) => chunk < part.bounds[a] + run.offset[i] + run.length[i]);
  const a = run.base[k],
    late = part.shift[a] * (chunk - part.bounds[a] - run.offset[k]);
  const stops = [];
  for (let u = node; ; u = part.src[run.via[k * part.nodes + u]]) {
    const at = run.arrival[k * part.nodes + u];
    if (at === NEVER) return [];
    stops.unshift([u, at > 0 ? at + late : 0]);
    if (run.via[k * part.nodes + u] < 0 || stops.length > part.nodes) return stops;
  }
}

function linkTable(app) {
  const { job, chosen } = app,
    rows = [];
  app.load ??= loads(app.run);
  const load = app.load,
    count = (arc) => (load.get(arc) ?? 0).toLocaleString("en");
  for (let p = 0; p < job.ports && rows.length < 60; p++) {
    const arc = chosen * job.ports + p,
      v = job.neighbor[arc];
    if (v < 0) continue;
    const step = app.arcs.get(arc);
    const text = step === undefined ? "cut" : `mend (cut at ${step})`;
    const act = el(
      "button",
      { "data-act": `cut${p}`, "aria-label": `${text} ${arcName(job, arc)}`, click: () => toggleArc(app, arc) },
      text,
    );
    rows.push([
      p,
      el(
        "a",
        {
          href: "#",
          click: (event) => {
            event.preventDefault();
            change(app, { chosen: v });
          },
        },
        job.labels[v],
      ),
      count(arc),
      act,
    ]);
  }
  return table([W.columns.port, W.columns.to, W.columns.sent, W.columns.act], rows);
}

function rowTable(app) {
  const { part, job, chosen } = app,
    rows = [];
  for (let r = 0; r < part.rows && rows.length < 150; r++) {
    const out = part.src[r] === chosen;
    if (!out && part.dst[r] !== chosen) continue;
    const last = part.step[r] + part.steps[r] - 1;
    const steps = last > part.step[r] ? `${part.step[r]}–${last}` : `${part.step[r]}`;
    const other = job.labels[out ? part.dst[r] : part.src[r]];
    const bad = app.rowCarries[r] < app.rowPlanned[r];
    const chunks = el(
      "span",
      bad ? { class: "broken" } : {},
      chunkRange(part, part.payload[r]) + (bad ? ` (${app.rowCarries[r]} come)` : ""),
    );
    rows.push([out ? `to ${other}` : `from ${other}`, steps, part.tree[r] < 0 ? "–" : part.tree[r], chunks]);
  }
  return table([W.columns.way, W.columns.steps, W.columns.tree, W.columns.chunks], rows);
}
