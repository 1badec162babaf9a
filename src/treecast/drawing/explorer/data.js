// Reads what Python packed: a header in JSON and columns of int32, deflated and in base64.

export async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const body = await new Response(stream).arrayBuffer();
  const length = new DataView(body).getUint32(0, true);
  const job = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 4, length)));
  let at = 4 + length;
  for (const [name, size, differs] of job.columns) {
    const column = new Int32Array(body.slice(at, at + 4 * size));
    if (differs) for (let i = 1; i < size; i++) column[i] += column[i - 1];
    job[name] = column;
    at += 4 * size;
  }
  for (const name of ["givenNode", "givenFirst", "givenStop", "begins", "routeStart", "routeArc"]) {
    job[name] ??= new Int32Array(0);
  }
  return finish(job);
}

/** Adds what follows from the columns: neighbours by node, moves by atom, the arc of each row. */
function finish(job) {
  const { nodes, ports } = job;
  const table = new Int32Array(nodes * ports);
  for (let p = 0; p < ports; p++) {
    for (let u = 0; u < nodes; u++) table[u * ports + p] = job.neighbor[p * nodes + u];
  }
  job.neighbor = table;
  job.isRelay = new Uint8Array(nodes);
  for (const u of job.relay) job.isRelay[u] = 1;
  job.rows = job.step.length;
  job.atoms = job.bounds.length - 1;
  job.trees = [...new Set(job.tree)].sort((a, b) => a - b);
  Object.assign(job, findMoves(job));
  Object.assign(job, arcsOf(job));
  return job;
}

/** Returns the number of the arc that leaves u by a port; nodes x ports where the model chooses the route. */
export function arcOf(job, u, port) {
  return port >= 0 && port < job.ports ? u * job.ports + port : job.nodes * job.ports;
}

/** Returns the first port by which an arc leaves u for v, or -1. */
export function portBetween(job, u, v) {
  for (let p = 0; p < job.ports; p++) if (job.neighbor[u * job.ports + p] === v) return p;
  return -1;
}

function arcsOf(job) {
  const arc = new Int32Array(job.rows);
  const back = new Int32Array(job.sparing ? job.rows : 0);
  for (let r = 0; r < job.rows; r++) {
    arc[r] = arcOf(job, job.src[r], job.port[r]);
    if (!job.sparing) continue;
    const returns = job.answers[r] ? -1 : portBetween(job, job.dst[r], job.src[r]);
    back[r] = arcOf(job, job.dst[r], returns);
  }
  return { arc, back };
}

/** Returns every sending of an atom by a row, sorted by atom and then by step. */
function findMoves(job) {
  const length = new Int32Array(job.payloadStart.length - 1);
  for (let p = 0; p < length.length; p++) {
    for (let i = job.payloadStart[p]; i < job.payloadStart[p + 1]; i++) {
      length[p] += job.bounds[job.payloadAtom[i] + 1] - job.bounds[job.payloadAtom[i]];
    }
  }
  const lists = Array.from({ length: job.atoms }, () => []);
  for (let r = 0; r < job.rows; r++) {
    const p = job.payload[r];
    const pace = length[p] > 1 ? (job.steps[r] - 1) / (length[p] - 1) : 1;
    for (let i = job.payloadStart[p]; i < job.payloadStart[p + 1]; i++) {
      const time = job.step[r] + pace * job.payloadPlace[i];
      lists[job.payloadAtom[i]].push([r, time]);
    }
  }
  const moveStart = new Int32Array(job.atoms + 1);
  lists.forEach((list, a) => {
    moveStart[a + 1] = moveStart[a] + list.length;
  });
  const moveRow = new Int32Array(moveStart[job.atoms]);
  const moveTime = new Int32Array(moveStart[job.atoms]);
  lists.forEach((list, a) => {
    list.sort((one, other) => one[1] - other[1]); // stable: rows of one step keep their order
    list.forEach(([row, time], i) => {
      moveRow[moveStart[a] + i] = row;
      moveTime[moveStart[a] + i] = time;
    });
  });
  return { moveStart, moveRow, moveTime, payloadLength: length };
}
