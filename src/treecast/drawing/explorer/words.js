// All that the page says, in one place, so that it can be said in another language.

const many = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
const few = (names, most = 6) =>
  names.length > most ? `${names.slice(0, most).join(", ")} and ${names.length - most} more` : names.join(", ");

export const W = {
  many,
  few,
  nothingFails: "Nothing fails",
  fault: (name, step) => (step ? `${name} from step ${step}` : `${name} from the start`),
  faults: (names) => `${many(names.length, "fault")} (${few(names, 4)})`,
  everybody: (before, living) => `${before}: all ${living} get everything.`,
  starving: (before, names, living) => `${before}: ${names.length} of ${living} lack something: ${few(names, 8)}.`,
  rootDead: (name) => `${name} is the root: dead from the start, it would deliver nothing. Kill it at a later step.`,
  lies: (fooled, undecided, right) =>
    ` By majority, ${many(right, "honest node")} elect the right data` +
    (fooled.length ? `; wrong: ${few(fooled)}` : "") +
    (undecided.length ? `; undecided: ${few(undecided)}` : "") +
    ".",
  noLies: "Here nobody can be asked to lie: there is one copy of each thing, or copies are not kept apart.",
  step: (step, sends, lost, complete) =>
    `Step ${step}: ${many(sends, "send")}${lost ? `, ${lost} of them lost` : ""}; ` +
    `${many(complete, "node has", "nodes have")} everything at its beginning.`,
  status: {
    dead: "dead",
    liar: "lies",
    lacks: "never gets everything",
    all: "has everything",
    some: "has a part",
    none: "has nothing yet",
    relay: "a relay",
    root: "the root",
  },
  tree: (tree) => (tree < 0 ? "sends of no tree" : `tree ${tree}`),
  way: (whole) => (whole ? "carries everything" : "broken"),
  single: (total, nodes, links, harmless) =>
    `${many(total, "single fault")} from the start (${many(nodes, "node")}, ${many(links, "link")}): ` +
    (harmless === total
      ? "none does harm. Every living node gets everything."
      : `${harmless} do no harm, ${total - harmless} do.`),
  worst: (name, count) =>
    count ? `The worst is ${name}: ${many(count, "living node")} would lack something.` : "No single fault does harm.",
  noRoutes:
    "Messages go by routes that the network chooses: a cut link stops none of them in this replay. Kill nodes instead.",
  orbit: "Every node does the same, translated: this is one node's part. Choose whose above.",
  controls: "Dotted sends are control flits: they tell nodes when to begin. They are drawn as planned, not replayed.",
  wayOf: "First path of chunk",
  from: (step) => `(from ${step})`,
  fromStart: "(from the start)",
  neverComes: "It never comes here.",
  digest: "The plan's digest, as in the second line of its file:",
  manyFrames: (count, most) => `${count} frames are more than the ${most} that are saved.`,
  large: "With more than 1,000 nodes labels and idle links are left out.",
  keys: "Keys: Space plays, ← → Home End steps, 1 … 9 a tree, Enter or click kills or revives a node, L makes it lie, W the worst fault, H heals all, S saves the network, F a frame for each step; with a node in focus, arrows go to its neighbours.",
  columns: {
    node: "node",
    from: "from",
    to: "to",
    steps: "steps",
    tree: "tree",
    chunks: "chunks",
    arrives: "arrives",
    begins: "first at step",
    done: "all at step",
    lacks: "lacks",
    above: "above it in",
    fault: "fault",
    starve: "nodes that lack something",
    port: "port",
    sent: "chunks sent",
    act: "act",
    way: "link",
  },
};
