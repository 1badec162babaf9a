// Who elects wrong values: a liar alters the chunks that it passes on; a node takes the value that more of its copies have than any other.

import { eachMove, NEVER } from "./replay.js";

/** Returns { fooled, undecided, right }: the honest living nodes that elect wrong values, none, or the right ones. */
export function judgeLies(job, liars, run) {
  const most = job.trees[job.trees.length - 1] + 2; // a place for each tree, and for no tree
  const lies = new Int32Array(job.nodes).fill(NEVER);
  for (const [node, step] of liars) lies[node] = step;
  const fooled = new Set(),
    undecided = new Set();
  for (const one of singlePieces(job, run, liars)) {
    const copies = passOn(job, run, one, lies, most);
    for (const v of one.wanted) {
      if (v === job.source[one.base] || run.nodeDies[job.source[one.base]] === 0) continue;
      let wrong = 0,
        right = 0;
      for (let tree = 0; tree < most; tree++) {
        const copy = copies[v * most + tree];
        if (copy === 2) wrong++;
        else if (copy === 1) right++;
      }
      if (wrong > right) fooled.add(v);
      else if (wrong === right) undecided.add(v);
    }
  }
  const honest = [];
  for (let v = 0; v < job.nodes; v++) if (!liars.has(v) && run.nodeDies[v] === NEVER) honest.push(v);
  return {
    fooled: honest.filter((v) => fooled.has(v)),
    undecided: honest.filter((v) => undecided.has(v) && !fooled.has(v)),
    right: honest.filter((v) => !undecided.has(v) && !fooled.has(v)),
  };
}

/** Returns the runs of chunks that faults and liars, by the steps at which they begin, hit alike, and who wants them. */
function singlePieces(job, run, liars) {
  const wanted = Array.from({ length: job.atoms }, () => []);
  job.wantedNode.forEach((v, i) => {
    for (let a = job.wantedFirst[i]; a < job.wantedStop[i]; a++) wanted[a].push(v);
  });
  const begin = [...new Set(liars.values())].filter((step) => step > 0);
  const found = [];
  run.base.forEach((base, k) => {
    const places = new Set([run.offset[k]]);
    for (let i = job.moveStart[base]; job.shift[base] && i < job.moveStart[base + 1]; i++) {
      for (const step of begin) {
        const place = Math.ceil((step - job.moveTime[i]) / job.shift[base]);
        if (place > run.offset[k] && place < run.offset[k] + run.length[k]) places.add(place);
      }
    }
    for (const offset of places) found.push({ base, offset, wanted: wanted[base] });
  });
  return found;
}

/** Returns the copies of one run of chunks, by node and tree: 0 none, 1 as it was, 2 altered. */
function passOn(job, run, { base, offset }, lies, most) {
  const source = job.source[base],
    late = job.shift[base] * offset;
  const copies = new Uint8Array(job.nodes * most),
    first = new Uint8Array(job.nodes);
  let waiting = [],
    step = -1;
  const settle = () => {
    for (const [v, tree, copy] of waiting) {
      if (!copies[v * most + tree]) copies[v * most + tree] = copy;
      if (!first[v]) first[v] = copy;
    }
    waiting = [];
  };
  for (let i = job.moveStart[base]; i < job.moveStart[base + 1]; i++) {
    const r = job.moveRow[i],
      t = job.moveTime[i] + late,
      u = job.src[r],
      v = job.dst[r],
      tree = job.tree[r] + 1;
    if (t !== step) settle();
    step = t;
    let copy = 1;
    if (u !== source) {
      copy = copies[u * most + tree] || (job.copies === 1 ? first[u] : 0);
      if (copy && t >= lies[u]) copy = 2;
    }
    if (!copy || t >= run.nodeDies[u] || t >= run.nodeDies[v] || t >= run.arcDies[job.arc[r]]) continue;
    waiting.push([v, tree, copy]);
  }
  settle();
  return copies;
}

/** Returns how many chunks went over each arc and arrived: Map(arc, chunks). */
export function loads(run) {
  const found = new Map();
  eachMove(run, ({ row, flag, k }) => {
    if (flag) found.set(run.job.arc[row], (found.get(run.job.arc[row]) ?? 0) + run.length[k]);
  });
  return found;
}
