// The trees side by side; the paths to the chosen node are dark in all of them.

import { kill } from "./network.js";
import { $, colour, ink, table, tableBelow } from "./page_parts.js";
import { change } from "./state.js";
import { W } from "./words.js";

/** Returns for each tree of the part shown who is above each node, how deep it is, and where it stands. */
export function growTrees(app) {
  const { part } = app,
    rows = new Map();
  for (let r = 0; r < part.rows; r++) {
    if (!app.rowShown(r)) continue;
    if (!rows.has(part.tree[r])) rows.set(part.tree[r], []);
    rows.get(part.tree[r]).push(r);
  }
  const root = part.allSource && !part.orbit ? (app.source < 0 ? part.root : app.source) : part.root;
  return [...rows].sort(([a], [b]) => a - b).map(([tree, list]) => ({ tree, ...grow(part, root, list) }));
}

/** Walks from the root along links that rows of a tree use, either way; of several rows the earlier counts. */
function grow(part, root, rows) {
  const beside = new Map();
  const join = (u, v, r) => {
    if (!beside.has(u)) beside.set(u, []);
    beside.get(u).push([v, r]);
  };
  for (const r of rows) {
    join(part.src[r], part.dst[r], r);
    join(part.dst[r], part.src[r], r);
  }
  const above = new Int32Array(part.nodes).fill(-1),
    row = new Int32Array(part.nodes).fill(-1);
  const depth = new Int32Array(part.nodes).fill(-1),
    below = Array.from({ length: part.nodes }, () => []);
  depth[root] = 0;
  const order = [root];
  for (const u of order) {
    for (const [v, r] of beside.get(u) ?? []) {
      if (depth[v] >= 0) continue;
      depth[v] = depth[u] + 1;
      above[v] = u;
      row[v] = r;
      below[u].push(v);
      order.push(v);
    }
  }
  const across = new Float64Array(part.nodes),
    size = new Float64Array(part.nodes);
  for (let i = order.length - 1; i >= 0; i--) {
    const u = order[i];
    size[u] = below[u].length ? below[u].reduce((sum, v) => sum + size[v], 0) : 1;
  }
  for (const u of order) {
    let left = across[u] - size[u] / 2;
    for (const v of below[u]) {
      across[v] = left + size[v] / 2;
      left += size[v];
    }
  }
  return { above, row, depth, across, order, wide: size[root], deep: Math.max(...order.map((u) => depth[u])) };
}

/** Returns the way from the root to a node in a tree, as nodes; empty where the tree does not have it. */
export function wayTo(grown, node) {
  if (grown.depth[node] < 0) return [];
  const way = [node];
  while (grown.above[way[0]] >= 0) way.unshift(grown.above[way[0]]);
  return way;
}

export function treesView(app) {
  const canvas = $("trees-canvas"),
    page = canvas.getContext("2d");
  let panels = [];
  const paint = () => {
    panels = drawAll(app, canvas, page);
  };
  const showTable = tableBelow("forest", () => aboveTable(app));
  app.views.push(() => {
    paint();
    showTable();
  });
  addEventListener("resize", paint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => change(app));
  canvas.addEventListener("pointermove", (event) => {
    const node = nodeAt(panels, event);
    canvas.style.cursor = node >= 0 ? "pointer" : "";
    if (node !== app.hovered) change(app, { hovered: node });
  });
  canvas.addEventListener("pointerleave", () => change(app, { hovered: -1 }));
  canvas.addEventListener("click", (event) => {
    const node = nodeAt(panels, event);
    if (node >= 0) kill(app, node);
  });
}

function nodeAt(panels, event) {
  let best = 14,
    found = -1;
  for (const { spots } of panels) {
    for (const [u, x, y] of spots) {
      const far = Math.hypot(x - event.offsetX, y - event.offsetY);
      if (far < best) [best, found] = [far, u];
    }
  }
  return found;
}

function drawAll(app, canvas, page) {
  const grown = app.grown.filter(({ tree }) => !app.hidden.has(tree));
  const width = canvas.parentElement.clientWidth,
    scale = devicePixelRatio || 1;
  const columns = Math.max(1, Math.min(grown.length, Math.floor(width / 300), 4));
  const deepest = Math.max(1, ...grown.map(({ deep }) => deep));
  const high = Math.max(130, Math.min(330, 36 * (deepest + 1))) + 40,
    lines = Math.ceil(grown.length / columns);
  canvas.width = width * scale;
  canvas.height = high * lines * scale;
  canvas.style.height = `${high * lines}px`;
  page.setTransform(scale, 0, 0, scale, 0, 0);
  page.clearRect(0, 0, width, high * lines);
  return grown.map((one, i) => {
    const box = {
      x: (i % columns) * (width / columns),
      y: Math.floor(i / columns) * high,
      w: width / columns - 16,
      h: high,
    };
    return { spots: drawTree(app, page, one, box) };
  });
}

function drawTree(app, page, one, box) {
  const { run, job } = app,
    { order, across, depth, above, row, wide, deep, tree } = one;
  const gap = (box.h - 76) / Math.max(deep, 1),
    unit = box.w / wide;
  const radius = Math.max(1.8, Math.min(11, unit * 0.42, gap * 0.3));
  const at = (u) => [box.x + box.w / 2 + across[u] * unit, box.y + 42 + depth[u] * gap];
  const dark = new Set(wayTo(one, app.hovered >= 0 ? app.hovered : app.chosen));
  const colourHere = colour(tree);
  const carries = (u) => app.rowCarries[row[u]];
  page.font = "600 12px system-ui, sans-serif";
  page.textAlign = "left";
  page.fillStyle = ink("--ink");
  page.fillText(`${W.tree(tree)}, depth ${deep}`, box.x + 4, box.y + 14);
  for (const u of order) {
    if (above[u] < 0) continue;
    const [x, y] = at(u),
      [ax, ay] = at(above[u]),
      onWay = dark.has(u),
      broken = carries(u) < app.rowPlanned[row[u]];
    page.beginPath();
    page.moveTo(ax, ay);
    page.lineTo(x, y);
    page.lineWidth = onWay ? 4 : 1.3;
    page.strokeStyle = broken ? ink("--bad") : onWay ? ink("--ink") : colourHere;
    page.setLineDash(broken ? [3, 3] : []);
    page.stroke();
  }
  page.setLineDash([]);
  const letters = unit > 7 * Math.min(7, job.labels[order[0]].length) && radius > 4;
  return order.map((u) => {
    const [x, y] = at(u),
      dead = run.nodeDies[u] <= app.step;
    const here = above[u] < 0 || app.rowBegan[row[u]] < app.step;
    page.beginPath();
    page.arc(x, y, dark.has(u) ? radius + 1.5 : radius, 0, 7);
    page.fillStyle = dead ? ink("--bad") : here ? colourHere : ink("--node");
    page.fill();
    page.lineWidth = dark.has(u) ? 2.5 : 1.2;
    page.strokeStyle = dead ? ink("--bad") : dark.has(u) ? ink("--ink") : colourHere;
    page.stroke();
    if (letters || (dark.has(u) && u === (app.hovered >= 0 ? app.hovered : app.chosen))) {
      page.font = "10px system-ui, sans-serif";
      page.textAlign = "center";
      page.lineWidth = 3;
      page.strokeStyle = ink("--panel");
      page.fillStyle = ink("--ink");
      page.strokeText(job.labels[u], x, y + radius + 10);
      page.fillText(job.labels[u], x, y + radius + 10);
    }
    return [u, x, y];
  });
}

function aboveTable(app) {
  const { job, grown } = app;
  const heads = [W.columns.node, ...grown.map(({ tree }) => `${W.columns.above} ${W.tree(tree)}`)];
  const rows = job.labels.map((label, u) => [
    label,
    ...grown.map(({ above }) => (above[u] < 0 ? "" : job.labels[above[u]])),
  ]);
  return table(heads, rows, 1000);
}
