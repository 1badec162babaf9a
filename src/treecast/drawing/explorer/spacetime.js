// Space and time: a row for each node, a column for each step; a bar is what a node receives, pale where it had it already.

import { $, colour, ink, table, tableBelow } from "./page_parts.js";
import { eachMove, NEVER } from "./replay.js";
import { change } from "./state.js";
import { W } from "./words.js";

const LEFT = 76,
  TOP = 20;

export function timeView(app) {
  const canvas = $("time-canvas"),
    page = canvas.getContext("2d"),
    { job } = app;
  const view = { first: 0, stop: Math.max(job.span + 1, 2), bars: [], order: [] };
  const showTable = tableBelow("time", () => doneTable(app));
  const paint = () => drawTime(app, canvas, page, view);
  app.views.push((_, again) => {
    if (again) {
      view.bars = barsOf(app);
      const sorted = [...app.run.begun.keys()].sort((u, v) => app.run.begun[u] - app.run.begun[v] || u - v);
      view.order = sorted.filter((u) => app.run.begun[u] !== NEVER || app.run.wants[u] || app.nodes.has(u));
    }
    paint();
    showTable();
  });
  addEventListener("resize", paint);
  listen(app, canvas, view, paint);
}

function barsOf(app) {
  const { part, run } = app,
    bars = [];
  eachMove(run, ({ row, time, steps, flag, k }) => {
    if (!flag || !app.shown[run.base[k]]) return;
    const first = run.via[k * part.nodes + part.dst[row]] === row;
    bars.push({
      node: part.dst[row],
      time,
      steps,
      tree: part.tree[row],
      kind: flag === 1 ? "lost" : first ? "first" : "spare",
    });
  });
  const rank = { spare: 0, lost: 1, first: 2 };
  return bars.sort((a, b) => rank[a.kind] - rank[b.kind]);
}

function drawTime(app, canvas, page, view) {
  const { job, run } = app,
    width = canvas.parentElement.clientWidth,
    scale = devicePixelRatio || 1;
  const lines = Math.max(view.order.length, 1),
    high = Math.max(150, Math.min(440, lines * 15)) + TOP + 18;
  canvas.width = width * scale;
  canvas.height = high * scale;
  canvas.style.height = `${high}px`;
  page.setTransform(scale, 0, 0, scale, 0, 0);
  page.clearRect(0, 0, width, high);
  const line = (high - TOP - 18) / lines,
    unit = (width - LEFT - 10) / (view.stop - view.first);
  Object.assign(view, { line, unit });
  const x = (step) => LEFT + (step - view.first) * unit;
  const place = new Map(view.order.map((u, i) => [u, i]));
  page.font = "11px system-ui, sans-serif";
  page.textBaseline = "middle";
  const chosen = app.hovered >= 0 ? app.hovered : app.chosen;
  if (place.has(chosen)) {
    page.fillStyle = ink("--line");
    page.fillRect(0, TOP + place.get(chosen) * line, width, Math.max(line, 2));
  }
  page.save();
  page.beginPath();
  page.rect(LEFT - 4, 0, width - LEFT + 4, high);
  page.clip();
  drawAxis(app, page, view, { x, high, width });
  const apart = line / job.trees.length > 1.1; // room for a lane for each tree
  const tall = apart ? (line - 1) / job.trees.length : Math.max(line * 0.8, 1);
  const lane = new Map(job.trees.map((tree, i) => [tree, i]));
  const colours = new Map(job.trees.map((tree) => [tree, colour(tree)])),
    bad = ink("--bad");
  for (const { node, time, steps, tree, kind } of view.bars) {
    if (app.hidden.has(tree) || time + steps < view.first || time > view.stop) continue;
    const y = TOP + place.get(node) * line + (apart ? lane.get(tree) * tall : line * 0.1);
    page.globalAlpha = kind === "spare" ? 0.28 : kind === "lost" ? 0.5 : 1;
    page.fillStyle = kind === "lost" ? bad : colours.get(tree);
    page.fillRect(
      x(time),
      y,
      Math.max(steps * unit - Math.min(1, unit * 0.2), 0.6),
      apart && tall > 2 ? tall - 0.5 : tall,
    );
  }
  page.globalAlpha = 1;
  for (const [node, step] of app.nodes) {
    if (!place.has(node)) continue;
    page.fillStyle = bad;
    page.fillRect(x(step), TOP + place.get(node) * line + line / 2 - 1, width, 2);
  }
  page.fillStyle = ink("--accent");
  page.fillRect(x(app.step), TOP - 6, Math.max(1.5, Math.min(unit, 3)), high - TOP - 8);
  page.restore();
  drawNames(app, page, view, run);
}

function drawAxis(app, page, view, { x, high, width }) {
  const shown = view.stop - view.first,
    every =
      [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000].find((n) => (n / shown) * (width - LEFT) > 46) ?? shown;
  page.textAlign = "center";
  for (let step = Math.ceil(view.first / every) * every; step <= view.stop; step += every) {
    page.fillStyle = ink("--line");
    page.fillRect(x(step), TOP - 4, 1, high - TOP - 14);
    page.fillStyle = ink("--soft");
    page.fillText(`${step}`, x(step), TOP - 12);
  }
  if (!app.job.least) return;
  page.fillStyle = ink("--good");
  page.fillRect(x(app.job.least), TOP - 4, 2, high - TOP - 14);
  page.textAlign = "right";
  page.fillText(`bound ${app.job.least}`, x(app.job.least) - 4, high - 8);
}

function drawNames(app, page, view, run) {
  const every = Math.ceil(12 / view.line),
    size = Math.max(1, Math.min(11, 600 / 60));
  page.textAlign = "right";
  page.font = `${size}px system-ui, sans-serif`;
  view.order.forEach((u, i) => {
    if (i % every) return;
    page.fillStyle = app.nodes.has(u) || run.lacks[u] ? ink("--bad") : ink("--soft");
    const label = app.job.labels[u];
    page.fillText(label.length > 12 ? `${label.slice(0, 11)}…` : label, LEFT - 6, TOP + (i + 0.5) * view.line);
  });
}

function listen(app, canvas, view, paint) {
  const { job } = app,
    all = Math.max(job.span + 1, 2);
  const stepAt = (event) => view.first + (event.offsetX - LEFT) / view.unit;
  const show = (first, wide) => {
    const size = Math.max(4, Math.min(all, wide));
    view.first = Math.max(0, Math.min(all - size, first));
    view.stop = view.first + size;
    paint();
  };
  const zoom = (centre, by) => show(centre - (centre - view.first) * by, (view.stop - view.first) * by);
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoom(Math.max(stepAt(event), view.first), event.deltaY > 0 ? 1.25 : 0.8);
    },
    { passive: false },
  );
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, first: view.first, far: 0 };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const node = view.order[Math.floor((event.offsetY - TOP) / view.line)] ?? -1;
    if (drag) {
      drag.far = Math.max(drag.far, Math.abs(event.offsetX - drag.x));
      show(drag.first - (event.offsetX - drag.x) / view.unit, view.stop - view.first);
    } else if (node !== app.hovered) change(app, { hovered: node });
  });
  canvas.addEventListener("pointerup", (event) => {
    const node = view.order[Math.floor((event.offsetY - TOP) / view.line)];
    if (drag && drag.far < 4) change(app, { step: Math.floor(stepAt(event)), chosen: node ?? app.chosen });
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => change(app, { hovered: -1 }));
  canvas.addEventListener("dblclick", () => show(0, all));
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "+") zoom(app.step, 0.8);
    else if (event.key === "-") zoom(app.step, 1.25);
    else if (event.key === "0") show(0, all);
    else return;
    event.stopPropagation();
  });
}

function doneTable(app) {
  const { job, run } = app,
    { node, begins, done, lacks } = W.columns;
  const at = (step) => (step === NEVER ? "never" : step);
  const rows = job.labels.map((label, u) => [
    label,
    at(run.begun[u]),
    run.wants[u] ? at(run.done[u]) : "",
    run.lacks[u] || "",
  ]);
  return table([node, begins, done, lacks], rows, 1000);
}
