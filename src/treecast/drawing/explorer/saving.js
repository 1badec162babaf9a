// Files that the page saves: the network as an SVG, or one SVG for each step, in a ZIP file that stores them as they are.

import { $, drawn, el } from "./page_parts.js";
import { change } from "./state.js";
import { W } from "./words.js";

const MOST_FRAMES = 400;

/** Saves the network as it stands, with its colours written out. */
export function saveSvg(app) {
  save(new Blob([svgText(app)], { type: "image/svg+xml" }), `${app.job.kind}.svg`);
}

/** Saves the network at each step, and comes back to the step that was shown. */
export async function saveFrames(app) {
  const { step, job } = app;
  if (job.span >= MOST_FRAMES) return change(app, { message: W.manyFrames(job.span + 1, MOST_FRAMES) });
  const files = [],
    wide = String(job.span).length;
  for (let at = 0; at <= job.span; at++) {
    change(app, { step: at, playing: false });
    files.push([`step-${String(at).padStart(wide, "0")}.svg`, new TextEncoder().encode(svgText(app))]);
    if (at % 8 === 7) await new Promise((awake) => setTimeout(awake));
  }
  change(app, { step });
  save(new Blob([zipOf(files)], { type: "application/zip" }), `${job.kind}-frames.zip`);
  return files.length;
}

export function svgText(app) {
  const copy = $("map").cloneNode(true),
    style = drawn("style"),
    sheet = document.querySelector("style").textContent;
  const root = getComputedStyle(document.documentElement);
  const names = [...sheet.matchAll(/(--[a-z0-9-]+):/g)].map(([, name]) => name);
  const values = [...new Set(names)].map((name) => `${name}:${root.getPropertyValue(name)}`).join(";");
  style.textContent = `svg{${values}}${sheet}`;
  copy.prepend(drawn("title", {}, `${document.title}, step ${app.step} of ${app.job.span}`), style);
  copy.setAttribute("role", "img");
  return new XMLSerializer().serializeToString(copy);
}

function save(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Returns a ZIP file of some files, [name, bytes], neither dated nor compressed. */
export function zipOf(files) {
  const parts = [],
    heads = [];
  let at = 0;
  for (const [name, bytes] of files) {
    const label = new TextEncoder().encode(name);
    const common = [20, 0x800, 0, 0, 0x21]
      .flatMap(two)
      .concat(four(crcOf(bytes)), four(bytes.length), four(bytes.length));
    const entry = Uint8Array.from([...four(0x04034b50), ...common, ...two(label.length), ...two(0), ...label]);
    const where = [...two(label.length), ...[0, 0, 0, 0].flatMap(two), ...four(0), ...four(at)];
    heads.push(Uint8Array.from([...four(0x02014b50), ...two(20), ...common, ...where, ...label]));
    parts.push(entry, bytes);
    at += entry.length + bytes.length;
  }
  const size = heads.reduce((sum, head) => sum + head.length, 0);
  const count = two(files.length);
  const end = [...four(0x06054b50), ...two(0), ...two(0), ...count, ...count, ...four(size), ...four(at), ...two(0)];
  return concat([...parts, ...heads, Uint8Array.from(end)]);
}

const two = (number) => [number & 255, (number >> 8) & 255];
const four = (number) => [...two(number & 0xffff), ...two(number >>> 16)];

function concat(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Returns the check sum that a ZIP file wants (CRC-32). */
function crcOf(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
