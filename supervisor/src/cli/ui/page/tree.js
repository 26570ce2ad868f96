// The rows of a session by descent: every exec under the one it came from, and what is about an exec under it.

/** What counts as one of these, for the filter. */
const SHOWS = {
  all: () => true,
  ran: (node) => node.row.kind === "ran" || node.row.kind === "tool",
  refused: (node) => node.row.kind === "deny" || node.row.kind === "fault",
  faults: (node) => ["fault", "hook", "gap", "torn"].includes(node.row.kind),
  asks: (node) => node.row.kind === "ask",
  failed: (node) => node.end?.good === false,
};

export class Tree {
  constructor() {
    this.roots = [];
    this.execs = new Map();
    this.size = 0;
  }

  /** Takes a row; an outcome belongs to its exec and is none of its own. */
  add(row) {
    if (row.kind === "outcome") {
      const exec = this.execs.get(row.seq);
      if (exec) exec.end = row;
      return;
    }
    const node = { row, children: [], parent: undefined, end: undefined, open: true, told: undefined, extra: 0, text: "" };
    node.text = [row.text, row.path, row.hook, row.why, row.defect, row.pid, `#${row.seq}`, row.kind]
      .filter((part) => part !== undefined && part !== "")
      .join("\n")
      .toLowerCase();
    // A trace is not trusted: only an earlier exec can be an ancestor, so there are no rings.
    if (row.parent !== undefined && row.parent < row.seq) node.parent = this.execs.get(row.parent);
    else if (["ask", "hook"].includes(row.kind)) node.parent = this.execs.get(row.seq);
    (node.parent?.children ?? this.roots).push(node);
    if (["ran", "deny", "fault"].includes(row.kind) && !this.execs.has(row.seq)) this.execs.set(row.seq, node);
    this.size += 1;
  }

  /** What is to be seen, from top to bottom, as `{node, depth, dim}`; ancestors of what was found are dim. Without
   *  recursion: the watched tree decides how deep it is. */
  seen(words, show) {
    const shows = SHOWS[show] ?? SHOWS.all;
    const searching = words.length > 0 || show !== "all";
    const found = new Set();
    const around = new Set();
    let count = 0;
    if (searching) {
      for (const node of this.nodes()) {
        if (!shows(node) || !words.every((word) => node.text.includes(word))) continue;
        found.add(node);
        count += 1;
        for (let above = node.parent; above && !around.has(above); above = above.parent) around.add(above);
      }
    }
    const rows = [];
    const waiting = this.roots.map((node) => [node, 0]).reverse();
    while (waiting.length > 0) {
      const [node, depth] = waiting.pop();
      if (searching && !found.has(node) && !around.has(node)) continue;
      rows.push({ node, depth, dim: searching && !found.has(node) });
      if (!node.open && !searching) continue;
      for (let at = node.children.length - 1; at >= 0; at -= 1) waiting.push([node.children[at], depth + 1]);
    }
    return { rows, count: searching ? count : this.size };
  }

  *nodes() {
    const waiting = [...this.roots];
    while (waiting.length > 0) {
      const node = waiting.pop();
      yield node;
      for (const child of node.children) waiting.push(child);
    }
  }
}
