// Puts the page together: the bar on top, the controls and the keys; the views are in files of their own.

import { unpack } from "./data.js";
import { inspector } from "./inspector.js";
import { kill, networkView } from "./network.js";
import { $, arcName, colourName, el, firstArrivals, sendsAt } from "./page_parts.js";
import { eachMove, NEVER, replay } from "./replay.js";
import { saveFrames, saveSvg } from "./saving.js";
import { timeView } from "./spacetime.js";
import { canLie, change, createApp, recall, sourcesOf, toggleLiar } from "./state.js";
import { growTrees, treesView, wayTo } from "./trees.js";
import { trials } from "./trials.js";
import { W } from "./words.js";

export async function start(text) {
  const app = createApp(await unpack(text));
  recall(app, location.hash);
  derive(app);
  heading(app.job);
  networkView(app);
  inspector(app);
  treesView(app);
  timeView(app);
  trials(app);
  controls(app);
  keys(app);
  app.views.push(() => say(app));
  addEventListener("hashchange", () => {
    if (location.hash === app.address) return;
    recall(app, location.hash);
    change(app, { faults: true });
  });
  change(app, {});
  window.explorer = { app, change: (what) => change(app, what) };
}

/** Works out what several views need whenever something was replayed. */
export function derive(app) {
  let before = null,
    calm = null;
  app.rowShown = (row) => {
    const { part } = app,
      p = part.payload[row];
    if (part.payloadStart[p] === part.payloadStart[p + 1]) return true;
    for (let i = part.payloadStart[p]; i < part.payloadStart[p + 1]; i++)
      if (app.shown[part.payloadAtom[i]]) return true;
    return false;
  };
  app.waysOf = (node) =>
    app.grown
      .filter(({ tree }) => !app.hidden.has(tree))
      .map((one) => {
        const way = wayTo(one, node);
        return way.slice(1).map((v, i) => [way[i], v]);
      });
  app.views.push((_, again) => {
    if (!again) return;
    app.run.begun = firstArrivals(app);
    app.load = null;
    if (before !== app.part) calm = carried(replay(app.part, { nodes: new Map(), arcs: new Map() })).count;
    before = app.part;
    app.rowPlanned = calm;
    const { count, began } = carried(app.run);
    app.rowCarries = count;
    app.rowBegan = began;
    app.grown = growTrees(app);
  });
}

/** Returns how many chunks each row delivers, and from which step on. */
function carried(run) {
  const count = new Int32Array(run.job.rows),
    began = new Int32Array(run.job.rows).fill(NEVER);
  eachMove(run, ({ row, time, flag, k }) => {
    if (flag !== 2) return;
    count[row] += run.length[k];
    began[row] = Math.min(began[row], time);
  });
  return { count, began };
}

function heading(job) {
  const bound = job.lower.filter(([of]) => of === "steps").sort((a, b) => b[1] - a[1])[0];
  const parts = [
    `${W.many(job.nodes, "node")} · M = ${W.many(job.messages, "message")} · ${job.copies > 1 ? `x = ${job.copies} ${job.against.slice(0, -1)}-disjoint paths` : "one copy"} · ${job.model} · `,
    el("b", {}, W.many(job.span, "step")),
    job.beside,
  ];
  const verdict = job.holds
    ? el("span", { class: "yes" }, "✓ verified")
    : el("span", { class: "no" }, "✗ not verified");
  $("facts").append(...parts, " · ", verdict);
  verdict.title = job.rules.map(([rule, count]) => `${rule}: ${count ? `broken ${count} times` : "kept"}`).join("\n");
  if (bound)
    $("bounds").append(el("b", {}, `At least ${bound[1].toLocaleString("en")} steps`), ` = ${bound[2]} (${bound[3]})`);
  const rest = job.lower.filter((one) => one !== bound);
  if (rest.length) {
    const lines = rest.map(([of, value, formula, source]) =>
      el("div", {}, `${of} at least ${value.toLocaleString("en")} = ${formula} (${source})`),
    );
    $("bounds").append(
      el(
        "details",
        {},
        el("summary", {}, "other bounds, and the rules that were checked"),
        ...lines,
        el(
          "div",
          {},
          `Kept: ${job.rules
            .filter(([, count]) => !count)
            .map(([rule]) => rule)
            .join(", ")}.`,
        ),
      ),
    );
  }
  for (const text of job.violations) $("bounds").append(el("div", { class: "no" }, text));
  const notes = [W.keys];
  if (job.orbit) notes.unshift(W.orbit);
  if (job.tree.length && job.port.some((port) => port < 0)) notes.unshift(W.noRoutes);
  if (job.lengths) notes.unshift(W.controls);
  if (job.nodes > 1000) notes.unshift(W.large);
  $("foot").append(
    ...notes.map((note) => el("p", {}, note)),
    el("p", {}, `${job.command || job.builder} · treecast ${job.version}`),
    ...(job.digest ? [el("p", { class: "digest" }, `${W.digest} ${job.digest}`)] : []),
  );
}

function controls(app) {
  const { job } = app,
    slider = $("step");
  slider.max = job.span;
  slider.addEventListener("input", () => change(app, { step: Number(slider.value) }));
  const go = { first: () => 0, back: () => app.step - 1, next: () => app.step + 1, last: () => job.span };
  for (const [id, where] of Object.entries(go)) $(id).addEventListener("click", () => change(app, { step: where() }));
  $("play").addEventListener("click", () => play(app));
  $("heal").addEventListener("click", () => heal(app));
  $("svg").addEventListener("click", () => saveSvg(app));
  $("frames").addEventListener("click", () => saveFrames(app));
  $("labels").append(...(job.nodes <= 1000 ? job.labels : []).map((value) => el("option", { value })));
  $("find").addEventListener("change", () => {
    const node = job.labels.indexOf($("find").value.trim());
    if (node >= 0) change(app, { chosen: node });
  });
  if (job.allSource) {
    $("whose").hidden = false;
    const all = job.orbit ? [] : [el("option", { value: -1 }, "all")];
    $("source").append(...all, ...sourcesOf(job).map((u) => el("option", { value: u }, job.labels[u])));
    $("source").addEventListener("change", () => change(app, { source: Number($("source").value) }));
  }
  const chips = job.trees.map((tree) =>
    el(
      "button",
      {
        style: `--colour: var(${colourName(tree)})`,
        "aria-pressed": "true",
        "data-tree": tree,
        click: () => toggleTree(app, tree),
      },
      W.tree(tree),
    ),
  );
  if (job.trees.length > 1) $("trees").append(...chips);
  app.views.push(() => {
    slider.value = app.step;
    slider.setAttribute("aria-valuetext", `step ${app.step} of ${job.span}`);
    $("now").textContent = `${app.step} of ${job.span}`;
    $("play").textContent = app.playing ? "■ pause" : "▶ play";
    $("source").value = app.source;
    for (const chip of chips) chip.setAttribute("aria-pressed", String(!app.hidden.has(Number(chip.dataset.tree))));
  });
}

function toggleTree(app, tree) {
  const hidden = new Set(app.hidden);
  if (!hidden.delete(tree)) hidden.add(tree);
  change(app, { hidden });
}

function heal(app) {
  change(app, { nodes: new Map(), arcs: new Map(), liars: new Map(), faults: true, message: "" });
}

function play(app) {
  if (app.playing) return change(app, { playing: false });
  change(app, { playing: true, step: app.step >= app.job.span ? 0 : app.step });
  const tick = () => {
    if (!app.playing) return;
    change(app, { step: app.step + 1, playing: app.step + 1 < app.job.span });
    setTimeout(tick, 1000 / Number($("speed").value));
  };
  setTimeout(tick, 1000 / Number($("speed").value));
}

function keys(app) {
  const does = {
    " ": () => play(app),
    ArrowLeft: () => change(app, { step: app.step - 1 }),
    ArrowRight: () => change(app, { step: app.step + 1 }),
    Home: () => change(app, { step: 0 }),
    End: () => change(app, { step: app.job.span }),
    l: () => (canLie(app.job) ? toggleLiar(app, app.chosen) : change(app, { message: W.noLies })),
    k: () => kill(app, app.chosen),
    s: () => saveSvg(app),
    f: () => saveFrames(app),
    h: () => heal(app),
    w: () => $("worst").click(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    if (event.key === " " && event.target.matches("button, summary, a")) return; // Space presses what has the focus
    const digit = /^[1-9]$/.test(event.key) ? app.job.trees[Number(event.key) - 1] : undefined;
    const act = digit === undefined ? (does[event.key] ?? does[event.key.toLowerCase()]) : () => toggleTree(app, digit);
    if (!act) return;
    act();
    event.preventDefault();
  });
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) $("speed").value = "1";
}

/** Says in two lines what fails and who still gets everything, and what moves in this step. */
function say(app) {
  const { job, run } = app,
    label = (u) => job.labels[u];
  const names = [
    ...[...app.nodes].map(([u, step]) => W.fault(label(u), step)),
    ...[...app.arcs].map(([arc, step]) => W.fault(arcName(job, arc), step)),
  ];
  const before = names.length ? W.faults(names) : W.nothingFails;
  const living = W.many(run.living, `living ${job.member}`);
  let text = run.holds ? W.everybody(before, living) : W.starving(before, run.lacking.map(label), living);
  let good = run.holds;
  if (app.lies) {
    text += W.lies(app.lies.fooled.map(label), app.lies.undecided.map(label), app.lies.right.length);
    good &&= !app.lies.fooled.length && !app.lies.undecided.length;
  }
  if (app.message) text += ` ${app.message}`;
  app.message = "";
  if ($("verdict").textContent !== text) $("verdict").textContent = text;
  $("verdict").className = good ? "good" : "bad";
  const sends = sendsAt(app, app.step),
    lost = sends.filter(({ flag }) => flag === 1).length;
  let complete = 0;
  for (let v = 0; v < job.nodes; v++) if (run.wants[v] && run.done[v] <= app.step) complete++;
  const moves = W.step(app.step, sends.length, lost, complete);
  $("moves").ariaLive = app.playing ? "off" : "polite"; // a reader of screens is told where it stops
  if ($("moves").textContent !== moves) $("moves").textContent = moves;
}
