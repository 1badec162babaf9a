// An orbit has the rows of node 0's part; the translation that carries node 0 to h carries them to the part of h.

import { arcOf, portBetween } from "./data.js";

/** Returns where the translation from node 0 to h carries each node: the same ports are followed from both. */
export function translation(job, h) {
  const carried = new Int32Array(job.nodes).fill(-1);
  carried[0] = h;
  const queue = [0];
  for (const u of queue) {
    for (let p = 0; p < job.ports; p++) {
      const v = job.neighbor[u * job.ports + p];
      if (v < 0 || carried[v] >= 0) continue;
      carried[v] = job.neighbor[carried[u] * job.ports + p];
      queue.push(v);
    }
  }
  return carried;
}

/** Returns the part of node h: the same job with its nodes translated. */
export function partOf(job, h) {
  if (!job.orbit || h === 0) return job;
  const to = translation(job, h);
  const part = { ...job, root: to[job.root], carried: to };
  for (const name of ["src", "dst", "source", "wantedNode", "givenNode"]) {
    part[name] = job[name].map((u) => to[u]);
  }
  part.arc = part.src.map((u, r) => arcOf(job, u, job.port[r]));
  part.back = job.back.map((arc, r) => {
    if (arc === job.nodes * job.ports) return arc;
    return arcOf(job, part.dst[r], portBetween(job, part.dst[r], part.src[r]));
  });
  part.routeArc = job.routeArc.map((arc) => to[Math.floor(arc / job.ports)] * job.ports + (arc % job.ports));
  return part;
}
