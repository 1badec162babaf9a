// The simulator's rule: a living node sends what its rows say if it holds it, and skips the row otherwise.
// A fault at step s carries nothing from step s on. Chunks of an atom travel together; a fault cuts atoms into pieces.

export const NEVER = 2 ** 31 - 1;

/** Replays a job. faults: { nodes: Map(node, step), arcs: Map(arc, step) }. */
export function replay(job, faults) {
  const nodeDies = new Int32Array(job.nodes).fill(NEVER);
  const arcDies = new Int32Array(job.nodes * job.ports + 1).fill(NEVER);
  for (const [node, step] of faults.nodes) nodeDies[node] = step;
  for (const [arc, step] of faults.arcs) arcDies[arc] = step;
  const run = { job, nodeDies, arcDies, ...cut(job, [...faults.nodes.values(), ...faults.arcs.values()]) };
  const pieces = run.base.length;
  run.arrival = new Int32Array(pieces * job.nodes).fill(NEVER);
  run.via = new Int32Array(pieces * job.nodes).fill(-1);
  run.moved = new Uint8Array(run.flag[pieces]); // 1: sent, 2: sent and arrived
  const begins = new Int32Array(job.nodes);
  let sums = 0;
  while (sums < pieces && job.bounds[run.base[sums]] < job.sums) sums++;
  for (let k = 0; k < sums; k++) replaySum(run, k);
  if (!job.sums) giveFirst(run);
  for (let k = 0; k < sums && job.results; k++) {
    // whoever owns a sum, or is told no finished one, has it when the last contribution is there
    const told = job.shared && toldOf(job, run.base[sums + k]);
    const owner = job.source[run.base[k]];
    for (let v = 0; v < job.nodes; v++) {
      if (told ? !told[v] : v === owner) run.arrival[(sums + k) * job.nodes + v] = run.arrival[k * job.nodes + v];
    }
  }
  const [initiator, own, stop] = job.begins;
  const mine = (k) => job.begins.length > 0 && run.base[k] >= own && run.base[k] < stop;
  if (job.begins.length) {
    let first = -1;
    for (let k = 0; k < pieces; k++) {
      if (!mine(k)) continue;
      if (first < 0) first = k;
      replayPiece(run, k, begins);
    }
    begins.set(run.arrival.subarray(first * job.nodes, (first + 1) * job.nodes));
    run.initiator = initiator;
  }
  for (let k = sums; k < pieces; k++) if (!mine(k)) replayPiece(run, k, begins);
  return judge(run, faults);
}

/** Cuts atoms so that each fault hits all chunks of a piece alike. Piece k: `length` chunks of atom `base`, from `offset` on. */
function cut(job, dying) {
  const dies = [...new Set(dying)].filter((step) => step > 0);
  const cuts = Array.from({ length: job.atoms }, () => new Set([0]));
  for (let a = 0; a < job.atoms && dies.length; a++) {
    const size = job.bounds[a + 1] - job.bounds[a];
    if (!job.shift[a] || size < 2) continue;
    for (let i = job.moveStart[a]; i < job.moveStart[a + 1]; i++) {
      for (const step of dies) {
        const place = Math.ceil((step - job.moveTime[i]) / job.shift[a]);
        if (place > 0 && place < size) cuts[a].add(place);
      }
    }
  }
  if (job.results) {
    // sums and finished sums are cut alike
    const half = job.atoms / 2;
    for (let a = 0; a < half; a++) cuts[a] = cuts[a + half] = new Set([...cuts[a], ...cuts[a + half]]);
  }
  const base = [],
    offset = [],
    length = [],
    flag = [0];
  cuts.forEach((places, a) => {
    const sorted = [...places, job.bounds[a + 1] - job.bounds[a]].sort((one, other) => one - other);
    for (let i = 0; i + 1 < sorted.length; i++) {
      base.push(a);
      offset.push(sorted[i]);
      length.push(sorted[i + 1] - sorted[i]);
      flag.push(flag[flag.length - 1] + job.moveStart[a + 1] - job.moveStart[a]);
    }
  });
  return { base, offset, length, flag };
}

function giveFirst(run) {
  const { job } = run;
  const held = new Map();
  job.givenNode.forEach((node, i) => {
    for (let a = job.givenFirst[i]; a < job.givenStop[i]; a++) {
      if (!held.has(a)) held.set(a, []);
      held.get(a).push(node);
    }
  });
  run.base.forEach((a, k) => {
    for (const node of held.get(a) ?? []) {
      if (run.nodeDies[node] > 0) run.arrival[k * job.nodes + node] = 0;
    }
  });
}

function replayPiece(run, k, begins) {
  const { job, arrival, nodeDies, arcDies } = run;
  const { src, dst, arc, back, moveRow, moveTime, sparing } = job;
  const here = k * job.nodes,
    a = run.base[k],
    late = job.shift[a] * run.offset[k];
  const flags = run.flag[k] - job.moveStart[a];
  const said = sparing ? new Int32Array(arcDies.length).fill(NEVER) : null;
  const heard = sparing ? new Int32Array(arcDies.length).fill(NEVER) : null;
  for (let i = job.moveStart[a]; i < job.moveStart[a + 1]; i++) {
    const r = moveRow[i],
      t = moveTime[i] + late,
      u = src[r],
      v = dst[r];
    if (arrival[here + u] > t || begins[u] > t || t >= nodeDies[u]) continue;
    if (sparing) {
      if (said[arc[r]] < t || heard[back[r]] < t) continue;
      said[arc[r]] = t; // whether or not the arc still carries anything: nobody knows
    }
    run.moved[flags + i] = 1;
    if (t >= arcDies[arc[r]] || t >= nodeDies[v]) continue;
    run.moved[flags + i] = 2;
    if (sparing) heard[arc[r]] = Math.min(heard[arc[r]], t);
    if (t + 1 < arrival[here + v]) {
      arrival[here + v] = t + 1;
      run.via[here + v] = r;
    }
  }
}

/** Returns which nodes some row brings an atom. */
function toldOf(job, a) {
  const told = new Uint8Array(job.nodes);
  for (let i = job.moveStart[a]; i < job.moveStart[a + 1]; i++) told[job.dst[job.moveRow[i]]] = 1;
  return told;
}

/**
 * A node sends a sum on when all that it is to add, by all rows, is there; of sums that nobody owns, all that rows bring
 * it before that. All moves of one step see the state before it.
 */
function replaySum(run, k) {
  const { job, arrival, nodeDies, arcDies } = run;
  const { moveRow, moveTime } = job;
  const here = k * job.nodes,
    a = run.base[k],
    late = job.shift[a] * run.offset[k];
  const flags = run.flag[k] - job.moveStart[a],
    stop = job.moveStart[a + 1];
  const missing = new Int32Array(job.nodes);
  for (let i = job.moveStart[a]; i < stop && !job.shared; i++) missing[job.dst[moveRow[i]]]++;
  for (let v = 0; v < job.nodes; v++) {
    if (!missing[v] && !job.isRelay[v] && nodeDies[v] > 0) arrival[here + v] = 0;
  }
  for (let i = job.moveStart[a], j = i; i < stop; ) {
    const t = moveTime[i] + late;
    for (; j < stop && moveTime[j] === moveTime[i]; j++) {
      const u = job.src[moveRow[j]];
      run.moved[flags + j] = !missing[u] && arrival[here + u] <= t && t < nodeDies[u] ? 1 : 0;
    }
    for (; i < j; i++) {
      const r = moveRow[i],
        v = job.dst[r];
      if (job.shared) missing[v]++;
      if (!run.moved[flags + i] || t >= arcDies[job.arc[r]] || t >= nodeDies[v]) {
        arrival[here + v] = NEVER;
        continue;
      }
      run.moved[flags + i] = 2;
      if (--missing[v] === 0) {
        arrival[here + v] = t + 1;
        run.via[here + v] = r;
      }
    }
  }
}

/** Finds who lacks what: `lacks` has for each node how many chunks, `done` the step from which it has all it wants. */
function judge(run, faults) {
  const { job } = run;
  const first = new Int32Array(job.atoms + 1).fill(run.base.length);
  for (let k = run.base.length - 1; k >= 0; k--) first[run.base[k]] = k;
  run.first = first;
  run.lacks = new Int32Array(job.nodes);
  run.wants = new Uint8Array(job.nodes);
  run.done = new Int32Array(job.nodes);
  job.wantedNode.forEach((v, i) => {
    if (faults.nodes.has(v)) return;
    for (let k = first[job.wantedFirst[i]]; k < first[job.wantedStop[i]]; k++) {
      const a = run.base[k];
      if (!job.sums && run.nodeDies[job.source[a]] === 0) continue; // it never existed
      run.wants[v] = 1;
      const at = run.arrival[k * job.nodes + v];
      if (at === NEVER) run.lacks[v] += run.length[k];
      else if (at > 0) run.done[v] = Math.max(run.done[v], at + job.shift[a] * (run.length[k] - 1));
    }
  });
  run.lacking = [];
  for (let v = 0; v < job.nodes; v++) {
    if (faults.nodes.has(v)) run.done[v] = NEVER;
    else if (run.lacks[v]) {
      run.done[v] = NEVER;
      run.lacking.push(v);
    }
  }
  run.living = job.nodes - job.relay.length - [...faults.nodes.keys()].filter((v) => !job.isRelay[v]).length;
  run.holds = run.lacking.length === 0;
  return run;
}

// Calls visit for each sending of a piece k of atoms: its row, when, for how many steps, from which chunk on, and its
// flag: 0 skipped, 1 lost, 2 arrived.
export function eachMove(run, visit) {
  const { job } = run;
  for (let k = 0; k < run.base.length; k++) {
    const a = run.base[k],
      flags = run.flag[k] - job.moveStart[a],
      late = job.shift[a] * run.offset[k];
    const steps = job.shift[a] * (run.length[k] - 1) + 1;
    for (let i = job.moveStart[a]; i < job.moveStart[a + 1]; i++) {
      const time = job.moveTime[i] + late,
        chunk = job.bounds[a] + run.offset[k];
      visit({ row: job.moveRow[i], time, steps, chunk, flag: run.moved[flags + i], k });
    }
  }
}
