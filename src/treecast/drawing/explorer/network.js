// The network: all links pale, those of the trees in their colours, and what moves in the step shown, thick with its chunks.

import { $, chunkRange, colourName, dashes, drawn, sendsAt, statusOf, table, tableBelow } from "./page_parts.js";
import { change, toggleArc, toggleNode } from "./state.js";
import { W } from "./words.js";

const WIDE = 1000,
  HIGH = 640,
  MARGIN = 46,
  MOST_LABELS = 1000,
  MOST_CHUNKS = 80;

export function networkView(app) {
  const { job } = app,
    svg = $("map");
  const at = Array.from({ length: job.nodes }, (_, u) => [
    MARGIN + (job.x[u] / 10000) * (WIDE - 2 * MARGIN),
    MARGIN + (job.y[u] / 10000) * (HIGH - 2 * MARGIN),
  ]);
  const radius = Math.max(2.5, Math.min(19, nearest(at) * 0.42));
  app.aside = Math.min(3.2, radius * 0.25);
  svg.style.setProperty("--thick", Math.max(1.2, Math.min(5, radius * 0.4)).toFixed(1));
  svg.style.setProperty("--thin", Math.max(0.5, Math.min(1.6, radius * 0.15)).toFixed(1));
  const links = linksOf(job),
    bent = bendings(links, at, radius);
  const layers = ["idle", "trees", "way", "cut", "sends", "nodes", "chunks"].map((name) =>
    drawn("g", { "data-layer": name }),
  );
  svg.append(...layers);
  const [idle, trees, way, cuts, sends, nodes, chunks] = layers;
  const between = (u, v, aside = 0) => curve(...beside(at[u], at[v], aside), bent.get(u * job.nodes + v) ?? 0);
  if (job.nodes <= 1000)
    idle.append(drawn("path", { class: "idle", d: links.map(([u, v]) => between(u, v)).join("") }));
  const shapes = at.map(([x, y], u) => shapeOf(app, u, x, y, radius, nodes));
  listen(app, svg, at, shapes, { links, bent, radius });
  const showTable = tableBelow("network", () => stepTable(app));
  let roving = -1,
    drawnPart = null,
    drawnTrees = "",
    drawnStep = "";
  app.views.push((_, again) => {
    const hidden = `${app.source} ${[...app.hidden]}`;
    if (drawnPart !== app.part || drawnTrees !== hidden) trees.replaceChildren(...treeLines(app, between));
    if (again || drawnStep !== `${app.step} ${hidden}`) {
      const [lines, words] = movingLines(app, between, at, bent);
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

function nearest(at) {
  const step = Math.ceil(at.length / 200);
  let least = 200;
  for (let u = 0; u < at.length; u += step) {
    at.forEach(([x, y], v) => {
      if (u !== v) least = Math.min(least, Math.hypot(x - at[u][0], y - at[u][1]));
    });
  }
  return least;
}

/** Returns every link once, as [node, node], and arcs that have no arc back. */
function linksOf(job) {
  const seen = new Set(),
    found = [];
  for (let u = 0; u < job.nodes; u++) {
    for (let p = 0; p < job.ports; p++) {
      const v = job.neighbor[u * job.ports + p];
      if (v < 0 || seen.has(v * job.nodes + u) || seen.has(u * job.nodes + v)) continue;
      seen.add(u * job.nodes + v);
      found.push([u, v]);
    }
  }
  return found;
}

/** Returns how far links are bent that would run through another node: Map(u · nodes + v, part of the length). */
function bendings(links, at, radius) {
  const bent = new Map();
  if (links.length * at.length > 3e6) return bent;
  for (const [u, v] of links) {
    const [ax, ay] = at[u],
      dx = at[v][0] - ax,
      dy = at[v][1] - ay,
      far = dx * dx + dy * dy || 1;
    const crossed = at.some(([x, y], w) => {
      if (w === u || w === v) return false;
      const along = ((x - ax) * dx + (y - ay) * dy) / far;
      return along > 0.02 && along < 0.98 && Math.hypot(ax + along * dx - x, ay + along * dy - y) < radius * 0.8;
    });
    if (!crossed) continue;
    const by = Math.min(0.18, 34 / Math.sqrt(far) + 0.04);
    bent.set(u * at.length + v, by);
    bent.set(v * at.length + u, -by);
  }
  return bent;
}

function middle([ax, ay], [bx, by], bend) {
  return [(ax + bx) / 2 - (by - ay) * bend, (ay + by) / 2 + (bx - ax) * bend];
}

/** Returns two points moved to the right of the way from one to the other, so that ways there and back lie side by side. */
function beside(a, b, aside) {
  if (!aside) return [a, b];
  const dx = b[0] - a[0],
    dy = b[1] - a[1],
    by = aside / (Math.hypot(dx, dy) || 1);
  return [a, b].map(([x, y]) => [x - dy * by, y + dx * by]);
}

function curve(a, b, bend) {
  const from = `M${a[0].toFixed(1)} ${a[1].toFixed(1)}`,
    to = `${b[0].toFixed(1)} ${b[1].toFixed(1)}`;
  if (!bend) return `${from}L${to}`;
  const [x, y] = middle(a, b, 2 * bend);
  return `${from}Q${x.toFixed(1)} ${y.toFixed(1)} ${to}`;
}

function shapeOf(app, u, x, y, radius, parent) {
  const { job } = app,
    label = job.labels[u];
  const small = Math.min(radius * 0.95, (radius * 3.1) / Math.max(label.length, 2));
  const shape = drawn("g", {
    class: "node",
    role: "button",
    tabindex: "-1",
    "data-node": u,
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
  });
  shape.append(drawn("circle", { r: radius.toFixed(1) }));
  if (job.nodes <= MOST_LABELS && small > 2.2) {
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
    for (const [u, v] of stretches(part, r)) lines.get(tree).add(between(u, v, app.aside / 2));
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

function movingLines(app, between, at, bent) {
  const { part, job } = app,
    groups = new Map(),
    words = new Map();
  for (const { row, chunk, flag } of sendsAt(app, app.step)) {
    const tree = part.tree[row],
      key = flag === 1 ? "lost" : flag === 3 ? "control" : tree;
    if (!groups.has(key)) groups.set(key, []);
    for (const [u, v] of stretches(part, row)) groups.get(key).push(between(u, v, app.aside));
    const u = part.src[row],
      v = part.dst[row],
      key2 = u * job.nodes + v;
    if (!words.has(key2)) words.set(key2, { at: stretches(part, row)[0] ?? [u, v], list: [] });
    words.get(key2).list.push(chunk < 0 ? "·" : chunk);
  }
  const lines = [...groups].map(([key, all]) => {
    if (key === "lost") return drawn("path", { class: "lost", d: all.join("") });
    if (key === "control")
      return drawn("path", { class: "moving", d: all.join(""), stroke: "var(--soft)", "stroke-dasharray": "1 8" });
    return drawn("path", { class: "moving", d: all.join(""), stroke: `var(${colourName(key)})` });
  });
  const some = words.size <= MOST_CHUNKS ? [...words.values()] : [];
  return [
    lines,
    some.map(({ at: [u, v], list }) => {
      const [from, to] = beside(at[u], at[v], app.aside);
      const [mx, my] = middle(from, to, bent.get(u * job.nodes + v) ?? 0);
      const x = mx + 0.3 * (to[0] - mx),
        y = my + 0.3 * (to[1] - my); // nearer to where it goes
      return drawn("text", { class: "chunk", x: x.toFixed(1), y: y.toFixed(1) }, W.few(list, 2));
    }),
  ];
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
