// Where things lie in the network view, in units of its picture: no element of the page is touched here.

const WIDE = 1000,
  HIGH = 640,
  MARGIN = 46,
  TALL = 15; // of a line of words

/** Returns all that the picture of a job keeps: places, links, how these are bent, sizes, and the frame around them. */
export function pictureOf(job) {
  const at = Array.from({ length: job.nodes }, (_, u) => [
    MARGIN + (job.x[u] / 10000) * (WIDE - 2 * MARGIN),
    MARGIN + (job.y[u] / 10000) * (HIGH - 2 * MARGIN),
  ]);
  const radius = Math.max(2.5, Math.min(19, nearest(at) * 0.42)),
    aside = Math.min(3.2, radius * 0.25),
    thick = Math.max(1.2, Math.min(5, radius * 0.4));
  const links = linksOf(job),
    bent = bendings(links, at, radius);
  return { at, radius, aside, thick, links, bent, frame: frameOf(at, links, bent, Math.max(radius, 5) + 4) };
}

/** Returns [left, top, width, height] of the whole picture: the usual page, larger where bent links go beyond it. */
function frameOf(at, links, bent, around) {
  const curved = links.filter(([u, v]) => bent.has(u * at.length + v));
  const ends = [0, 1].map((axis) => {
    const bulges = curved.map(([u, v]) => bulge(at[u], at[v], bent.get(u * at.length + v), axis));
    const low = [...bulges, ...at.map((point) => point[axis])].reduce((a, b) => Math.min(a, b));
    const high = [...bulges, ...at.map((point) => point[axis])].reduce((a, b) => Math.max(a, b));
    return [Math.min(0, low - around), Math.max(axis ? HIGH : WIDE, high + around)];
  });
  return [ends[0][0], ends[1][0], ends[0][1] - ends[0][0], ends[1][1] - ends[1][0]];
}

/** Returns how far a bent link goes along an axis where it turns back; where it does not, its middle. */
function bulge(a, b, bend, axis) {
  const c = middle(a, b, 2 * bend)[axis],
    turn = a[axis] - 2 * c + b[axis],
    t = turn ? (a[axis] - c) / turn : 0.5;
  return along(a, b, bend, t > 0 && t < 1 ? t : 0.5)[axis];
}

/** Returns the point of a link at a part of its length. */
function along(a, b, bend, t) {
  const c = middle(a, b, 2 * bend);
  return [0, 1].map((axis) => (1 - t) ** 2 * a[axis] + 2 * t * (1 - t) * c[axis] + t * t * b[axis]);
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
      const part = ((x - ax) * dx + (y - ay) * dy) / far;
      return part > 0.02 && part < 0.98 && Math.hypot(ax + part * dx - x, ay + part * dy - y) < radius * 0.8;
    });
    if (!crossed) continue;
    const by = Math.min(0.18, 34 / Math.sqrt(far) + 0.04);
    bent.set(u * at.length + v, by);
    bent.set(v * at.length + u, -by);
  }
  return bent;
}

export function middle([ax, ay], [bx, by], bend) {
  return [(ax + bx) / 2 - (by - ay) * bend, (ay + by) / 2 + (bx - ax) * bend];
}

/** Returns two points moved to the right of the way from one to the other, so that ways there and back lie side by side. */
export function beside(a, b, aside) {
  if (!aside) return [a, b];
  const dx = b[0] - a[0],
    dy = b[1] - a[1],
    by = aside / (Math.hypot(dx, dy) || 1);
  return [a, b].map(([x, y]) => [x - dy * by, y + dx * by]);
}

export function curve(a, b, bend) {
  const from = `M${a[0].toFixed(1)} ${a[1].toFixed(1)}`,
    to = `${b[0].toFixed(1)} ${b[1].toFixed(1)}`;
  if (!bend) return `${from}L${to}`;
  const [x, y] = middle(a, b, 2 * bend);
  return `${from}Q${x.toFixed(1)} ${y.toFixed(1)} ${to}`;
}

/** Returns the head of an arrow, whose tip touches the node that a link leads to. */
export function head(a, b, bend, radius, thick) {
  const [cx, cy] = middle(a, b, 2 * bend),
    far = Math.hypot(b[0] - cx, b[1] - cy) || 1,
    [wx, wy] = [(b[0] - cx) / far, (b[1] - cy) / far];
  const room = Math.hypot(b[0] - a[0], b[1] - a[1]) - 2 * radius,
    long = Math.max(2, Math.min(2.2 * thick + 3, 0.5 * room)),
    wide = 0.45 * long + 0.3 * thick;
  const [x, y] = [b[0] - wx * (radius + 1), b[1] - wy * (radius + 1)],
    [fx, fy] = [x - wx * long, y - wy * long];
  const corners = [
    [x, y],
    [fx - wy * wide, fy + wx * wide],
    [fx + wy * wide, fy - wx * wide],
  ];
  return `M${corners.map((corner) => corner.map((side) => side.toFixed(1)).join(" ")).join("L")}Z`;
}

/** Returns { text, x, y } for words on links: inside the frame, and none on another; those without room are left out. */
export function apart(words, [left, top, width, height], radius) {
  const found = [];
  for (const { text, ends, bend } of words) {
    const wide = 8.7 * text.length + 4;
    const [[ax, ay], [bx, by]] = ends,
      first = 1 - (radius + 22) / (Math.hypot(bx - ax, by - ay) || 1); // before the head
    const usual = Math.max(0.4, Math.min(0.65, first)),
      out = wide / 2 + 4;
    for (const [part, off] of [
      [usual, 0],
      [usual, out],
      [0.5, out],
      [0.35, 0],
      [0.8, 0],
      [0.2, 0],
    ]) {
      const [px, py] = along(...beside(...ends, off), bend, part);
      const x = Math.max(left + wide / 2, Math.min(px, left + width - wide / 2)),
        y = Math.max(top + TALL / 2, Math.min(py, top + height - TALL / 2));
      if (found.some((one) => Math.abs(one.x - x) < (one.wide + wide) / 2 && Math.abs(one.y - y) < TALL)) continue;
      found.push({ text, x, y, wide });
      break;
    }
  }
  return found;
}
