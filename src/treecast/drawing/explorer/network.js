// The network: all links pale, those of the trees in their colours, and what moves in the step shown, thick with its chunks.

import { apart, beside, curve, head, middle, pictureOf } from "./geometry.js";
import {
  $,
  chunkRange,
  colourName,
  dashes,
  drawn,
  ranges,
  sendsAt,
  statusOf,
  table,
  tableBelow,
} from "./page_parts.js";
import { change, toggleArc, toggleNode } from "./state.js";
import { W } from "./words.js";

const MOST_LABELS = 1000,
  LEAST_LETTERS = 8, // smaller ones cannot be read
  MOST_CHUNKS = 80;

export function networkView(app) {
  const { job } = app,
    svg = $("map");
  const picture = pictureOf(job),
    { at, radius, aside, thick, links, bent, frame } = picture;
  svg.setAttribute("viewBox", frame.map((side) => side.toFixed(1)).join(" "));
  svg.style.setProperty("--thick", thick.toFixed(1));
  svg.style.setProperty("--thin", Math.max(0.5, Math.min(1.6, radius * 0.15)).toFixed(1));
  const layers = ["idle", "trees", "way", "cut", "sends", "nodes", "chunks"].map((name) =>
    drawn("g", { "data-layer": name }),
  );
  svg.append(...layers);
  const [idle, trees, way, cuts, sends, nodes, chunks] = layers;
  const between = (u, v, aside = 0) => curve(...beside(at[u], at[v], aside), bent.get(u * job.nodes + v) ?? 0);
  if (job.nodes <= 1000)
    idle.append(drawn("path", { class: "idle", d: links.map(([u, v]) => between(u, v)).join("") }));
  const shapes = at.map((_, u) => shapeOf(app, u, at, radius, nodes));
  listen(app, svg, at, shapes, { links, bent, radius });
  const showTable = tableBelow("network", () => stepTable(app));
  let roving = -1,
    drawnPart = null,
    drawnTrees = "",
    drawnStep = "";
  app.views.push((_, again) => {
    const hidden = `${app.source} ${[...app.hidden]}`;
    if (drawnPart !== app.part || drawnTrees !== hidden)
      trees.replaceChildren(...treeLines(app, (u, v) => between(u, v, aside / 2)));
    if (again || drawnStep !== `${app.step} ${hidden}`) {
      const [lines, words] = movingLines(app, picture);
      sends.replaceChildren(...lines);
      chunks.replaceChildren(...words);
    }
    if (again || drawnStep !== `${app.step} ${hidden}` || roving !== app.chosen) {
      for (let u = 0; u < job.nodes; u++) show(app, shapes[u], u);
    }
    [drawnPart, drawnTrees, drawnStep] = [app.part, hidden, `${app.step} ${hidden}`];
    const seen = app.hovered >= 0 ? app.hovered : app.chosen;
    way.replaceChildren(
      ...app
        .waysOf(seen)
        .map((line) => drawn("path", { class: "way", d: line.map(([u, v]) => between(u, v)).join("") })),
    );
    cuts.replaceChildren(
      ...[...app.arcs.keys()].map((arc) => cross(at, Math.floor(arc / job.ports), job.neighbor[arc], bent, job)),
    );
    if (roving !== app.chosen) {
      shapes[roving]?.setAttribute("tabindex", "-1");
      shapes[app.chosen].setAttribute("tabindex", "0");
      roving = app.chosen;
    }
    showTable();
  });
}

/** Tells whether a label has room above or below its node: no other node is as near as the label is wide, nor does it leave the page. */
function roomBeside(at, u, letters) {
  const wide = 6.6 * letters;
  return wide < 80 && at.every(([x, y], v) => v === u || Math.hypot(x - at[u][0], y - at[u][1]) > wide + 8);
}

function shapeOf(app, u, at, radius, parent) {
  const { job } = app,
    label = job.labels[u],
    [x, y] = at[u];
  const small = Math.min(radius * 0.95, (radius * 3.1) / Math.max(label.length, 2));
  const shape = drawn("g", {
    class: "node",
    role: "button",
    tabindex: "-1",
    "data-node": u,
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
  });
  shape.append(drawn("circle", { r: radius.toFixed(1) }));
  const labelled = job.nodes <= MOST_LABELS;
  if (labelled && small < LEAST_LETTERS && roomBeside(at, u, label.length)) {
    shape.append(
      drawn("text", { class: "beside", "font-size": 11, y: ((y < 320 ? -1 : 1) * (radius + 9)).toFixed(1) }, label),
    );
  } else if (labelled && small > 2.2) {
    shape.append(drawn("text", { "font-size": small.toFixed(1) }, label));
  }
  parent.append(shape);
  return shape;
}

function show(app, shape, u) {
  const { job, run, part } = app;
  let status = statusOf(app, u);
  const words = ["node", status];
  if (run.lacks[u] && status !== "dead") words.push("lacks");
  if (app.liars.has(u)) words.push("liar");
  if (job.isRelay[u]) words.push("relay");
  if (u === part.root && !(job.allSource && !job.orbit && app.source < 0)) words.push("root");
  if (u === app.chosen) words.push("chosen");
  const name = words.join(" ");
  if (shape.className.baseVal === name) return;
  shape.setAttribute("class", name);
  if (app.liars.has(u) && status !== "dead") status = "liar";
  shape.setAttribute("aria-label", `${job.labels[u]}: ${W.status[status]}${run.lacks[u] ? `, ${W.status.lacks}` : ""}`);
}

/** Returns the arcs that a row goes over: one, or a route of several; where no route is known, straight from end to end. */
export function stretches(part, row) {
  if (part.routeStart.length) {
    const arcs = [...part.routeArc.subarray(part.routeStart[row], part.routeStart[row + 1])];
    return arcs.map((arc) => [Math.floor(arc / part.ports), part.neighbor[arc]]);
  }
  return [[part.src[row], part.dst[row]]];
}

function treeLines(app, between) {
  const { part } = app,
    lines = new Map();
  for (let r = 0; r < part.rows; r++) {
    const tree = part.tree[r];
    if (app.hidden.has(tree) || !app.rowShown(r)) continue;
    if (!lines.has(tree)) lines.set(tree, new Set());
    for (const [u, v] of stretches(part, r)) lines.get(tree).add(between(u, v));
  }
  return [...lines].map(([tree, all]) =>
    drawn("path", {
      class: "over",
      d: [...all].join(""),
      stroke: `var(${colourName(tree)})`,
      "stroke-dasharray": dashes(tree).join(" "),
    }),
  );
}

function movingLines(app, { at, bent, aside, thick, radius, frame }) {
  const { part, job } = app,
    arcs = new Map();
  for (const { row, chunk, flag } of sendsAt(app, app.step)) {
    const kind = flag === 1 ? "lost" : flag === 3 ? "control" : part.tree[row];
    stretches(part, row).forEach(([u, v], i) => {
      const key = u * job.nodes + v;
      if (!arcs.has(key)) arcs.set(key, { u, v, kinds: new Set(), chunks: new Set() });
      arcs.get(key).kinds.add(kind);
      if (i === 0) arcs.get(key).chunks.add(chunk); // of a route: where it begins
    });
  }
  const shafts = new Map(),
    words = [];
  for (const [key, { u, v, kinds, chunks }] of arcs) {
    const bend = bent.get(key) ?? 0,
      wide = Math.min(thick, (0.85 * radius) / kinds.size);
    [...kinds].forEach((kind, i) => {
      const [from, to] = beside(at[u], at[v], kinds.size > 1 ? (i + 0.5) * wide : aside);
      const like = `${kind} ${wide}`;
      if (!shafts.has(like)) shafts.set(like, { kind, wide, lines: [], heads: [] });
      shafts.get(like).lines.push(curve(from, to, bend));
      shafts.get(like).heads.push(head(from, to, bend, radius, wide));
    });
    if (chunks.size) words.push({ text: chunkWords(chunks), ends: beside(at[u], at[v], aside), bend });
  }
  const drawnShafts = [...shafts.values()].map(({ kind, wide, lines, heads }) => {
    const lost = kind === "lost",
      control = kind === "control",
      ink = `var(${lost ? "--bad" : control ? "--soft" : colourName(kind)})`;
    const dash = control ? "1 8" : undefined,
      style = `--thick: ${wide.toFixed(1)}`;
    return [
      drawn("path", {
        class: lost ? "lost" : "moving",
        stroke: ink,
        "stroke-dasharray": dash,
        style,
        d: lines.join(""),
      }),
      drawn("path", { class: "head", fill: ink, d: heads.join("") }),
    ];
  });
  const shown = words.length <= MOST_CHUNKS ? apart(words, frame, radius) : [];
  return [
    drawnShafts.flat(),
    shown.map(({ text, x, y }) => drawn("text", { class: "chunk", x: x.toFixed(1), y: y.toFixed(1) }, text)),
  ];
}

function chunkWords(chunks) {
  const sorted = [...chunks].filter((chunk) => chunk >= 0).sort((one, other) => one - other);
  return sorted.length
    ? ranges(
        sorted.map((chunk) => [chunk, chunk + 1]),
        2,
      )
    : "·";
}

function cross(at, u, v, bent, job) {
  const [x, y] = middle(at[u], at[v], bent.get(u * job.nodes + v) ?? 0);
  const dx = (at[v][0] - x) * 0.25,
    dy = (at[v][1] - y) * 0.25; // nearer to the end that hears nothing
  const cx = x + dx,
    cy = y + dy;
  return drawn("path", { class: "cut", d: `M${cx - 6} ${cy - 6}l12 12M${cx + 6} ${cy - 6}l-12 12` });
}

/** Returns the arc nearest to a point, that towards the nearer end; null where none is near. */
function arcAt(job, at, { links, bent }, [x, y]) {
  let best = 12,
    found = null;
  for (const [u, v] of links) {
    const [mx, my] = middle(at[u], at[v], bent.get(u * at.length + v) ?? 0);
    for (const [a, b] of [
      [at[u], [mx, my]],
      [[mx, my], at[v]],
    ]) {
      const dx = b[0] - a[0],
        dy = b[1] - a[1];
      const along = Math.max(0, Math.min(1, ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy || 1)));
      const far = Math.hypot(a[0] + along * dx - x, a[1] + along * dy - y);
      if (far < best) [best, found] = [far, b === at[v] ? [u, v] : [v, u]];
    }
  }
  if (!found) return null;
  const [u, v] = found;
  for (const [from, to] of [
    [u, v],
    [v, u],
  ]) {
    for (let p = 0; p < job.ports; p++) if (job.neighbor[from * job.ports + p] === to) return from * job.ports + p;
  }
  return null;
}

function listen(app, svg, at, shapes, geometry) {
  const { job } = app;
  const nodeOf = (event) => Number(event.target.closest?.("[data-node]")?.dataset.node ?? -1);
  svg.addEventListener("click", (event) => {
    const node = nodeOf(event);
    if (node >= 0) return void kill(app, node);
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const arc = arcAt(job, at, geometry, [point.x, point.y]);
    if (arc !== null) toggleArc(app, arc);
  });
  svg.addEventListener("pointermove", (event) => {
    const node = nodeOf(event);
    if (node !== app.hovered) change(app, { hovered: node });
  });
  svg.addEventListener("pointerleave", () => change(app, { hovered: -1 }));
  svg.addEventListener("keydown", (event) => {
    const node = nodeOf(event);
    if (node < 0) return;
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Enter") kill(app, node);
    else if (way) {
      const next = neighbourTowards(job, at, node, way);
      change(app, { chosen: next });
      shapes[next].focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  svg.addEventListener("focusin", (event) => {
    if (nodeOf(event) >= 0 && nodeOf(event) !== app.chosen) change(app, { chosen: nodeOf(event) });
  });
}

export function kill(app, node) {
  if (toggleNode(app, node) === "root") change(app, { chosen: node, message: W.rootDead(app.job.labels[node]) });
}

function neighbourTowards(job, at, u, [wx, wy]) {
  let best = 0.2,
    found = u;
  for (let p = 0; p < job.ports; p++) {
    const v = job.neighbor[u * job.ports + p];
    if (v < 0) continue;
    const dx = at[v][0] - at[u][0],
      dy = at[v][1] - at[u][1];
    const along = (dx * wx + dy * wy) / Math.hypot(dx, dy);
    if (along > best) [best, found] = [along, v];
  }
  return found;
}

function stepTable(app) {
  const { part, job } = app;
  const rows = sendsAt(app, app.step).map(({ row, chunk, flag }) => [
    job.labels[part.src[row]],
    job.labels[part.dst[row]],
    W.tree(part.tree[row]),
    chunk < 0 ? chunkRange(part, part.payload[row]) : chunk,
    flag === 1 ? "lost" : flag === 3 ? "control" : "yes",
  ]);
  const { from, to, tree, chunks, arrives } = W.columns;
  return table([from, to, tree, chunks, arrives], rows);
}
