// The timeline of one session: rows as a tree, folded details, search, and the keyboard.

import { call } from "./api.js";
import { clock, duration, element } from "./element.js";
import { List } from "./list.js";
import { Tree } from "./tree.js";

const ROW = 26;
/** One level to the right, in pixels; deeper levels are drawn at the deepest. */
const STEP = 16;
const DEEPEST = 30;
const WORDS = { ran: "ran", deny: "DENY", fault: "FAULT", close: "end", foreign: "later" };
/** Rows of these kinds have more to show than their line. */
const TELLING = new Set(["ran", "deny", "fault", "tool", "event", "ask"]);

export class Timeline {
  constructor(place, onCount) {
    this.place = place;
    this.onCount = onCount;
    this.list = new List(place, (item) => ROW + item.node.extra, (item) => this.draw(item));
    this.words = [];
    this.show = "all";
    place.addEventListener("keydown", (event) => this.key(event));
    this.clear("");
  }

  clear(session) {
    this.session = session;
    this.tree = new Tree();
    this.selected = undefined;
    this.loading = session !== "";
    this.refresh();
  }

  add(rows) {
    for (const row of rows) this.tree.add(row);
    this.soon();
  }

  caughtUp() {
    this.loading = false;
    this.soon();
  }

  search(text, show) {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.show = show;
    this.place.scrollTop = 0;
    this.refresh();
    // What was found may stand below many ancestors.
    const first = this.list.items.findIndex((item) => !item.dim);
    if (this.words.length && first > 0) this.list.show(first);
  }

  soon() {
    if (this.wanted) return;
    this.wanted = true;
    setTimeout(() => {
      this.wanted = false;
      this.refresh();
    }, 50);
  }

  refresh() {
    const { rows, count } = this.tree.seen(this.words, this.show);
    this.list.set(rows, this.loading ? "Reading the trace …" : this.session ? "Nothing here is like that." : "No session yet.");
    this.onCount(count, this.tree.size);
  }

  draw(item) {
    const { node, depth, dim } = item;
    const { row, end } = node;
    const selected = node === this.selected;
    const looks = [depth, dim, selected, node.open, node.children.length > 0, end?.at, node.told?.length].join();
    if (node.made && node.looks === looks) return node.made;
    node.looks = looks;
    const twist = node.children.length ? (node.open ? "▾" : "▸") : "";
    const what = element("span", { class: "what" });
    what.style.paddingLeft = `${Math.min(depth, DEEPEST) * STEP}px`;
    what.append(element("span", { class: "twist", text: twist, "aria-hidden": true, onclick: (event) => this.twist(event, node) }));
    const number = row.pid === undefined ? "" : `${row.pid} `;
    what.append(element("span", { class: "number", text: number }), element("span", { class: "command", text: row.text }));
    if (row.path) what.append(element("span", { class: "path", text: `  (${row.path})` }));
    const why = [row.hook, row.why].filter(Boolean).join(row.kind === "ask" ? " → " : ": ");
    if (why) what.append(element("span", { class: "why", text: row.defect ? `${why} [${row.defect}]` : why }));
    if (row.folded) what.append(element("span", { class: "tag", text: row.folded }));
    const line = element(
      "div",
      { class: "line", onclick: () => this.choose(node, true) },
      element("span", { class: "time", text: clock(row.time ?? "") }),
      element("span", { class: "verdict", text: WORDS[row.kind] ?? row.kind }),
      what,
      element("span", { class: end?.good === false ? "end bad" : "end", text: end ? `${end.text}  ${duration(end.us)}` : "" }),
    );
    const made = element("div", {
      class: ["row", row.kind, selected && "selected", dim && "dim"].filter(Boolean).join(" "),
      role: "treeitem", id: `row-${row.at}-${row.kind}-${row.seq}`, "aria-level": depth + 1, "aria-selected": String(selected),
      "aria-expanded": node.children.length ? String(node.open) : undefined, title: row.text,
    }, line);
    if (selected) this.place.setAttribute("aria-activedescendant", made.id);
    if (node.told) made.append(this.details(node));
    node.made = made;
    return made;
  }

  details(node) {
    const parts = node.told.flatMap(({ title, text }) => [element("h3", { text: title }), element("pre", { text })]);
    return element("div", { class: "more", tabindex: "0" }, ...parts);
  }

  twist(event, node) {
    if (!node.children.length) return;
    event.stopPropagation();
    node.open = !node.open;
    this.refresh();
  }

  choose(node, toggle) {
    this.selected = node;
    if (toggle) this.fold(node);
    else this.refresh();
  }

  async fold(node) {
    if (node.told || !TELLING.has(node.row.kind)) {
      node.told = undefined;
      node.extra = 0;
      return this.refresh();
    }
    const path = `/api/sessions/${encodeURIComponent(this.session)}/records/${node.row.at}/${node.row.seq}`;
    try {
      node.told = (await call(path)).sections;
    } catch (error) {
      node.told = [{ title: "not to be had", text: error.message }];
    }
    // Measured once, where it will be.
    const trial = element("div", { class: "row" }, this.details(node));
    this.list.space.append(trial);
    node.extra = trial.scrollHeight + 8;
    trial.remove();
    this.refresh();
  }

  key(event) {
    if (event.target !== this.place || event.ctrlKey || event.altKey || event.metaKey) return;
    const items = this.list.items;
    const at = items.findIndex((item) => item.node === this.selected);
    const page = Math.max(1, Math.floor(this.place.clientHeight / ROW) - 1);
    const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: items.length - 1 }[event.key];
    const node = items[at]?.node;
    if (to !== undefined && items.length) {
      const next = Math.min(items.length - 1, Math.max(0, to));
      this.choose(items[next].node, false);
      this.list.show(next);
    } else if (node && (event.key === "Enter" || event.key === " ")) this.fold(node);
    else if (node && event.key === "ArrowRight" && node.children.length && !node.open) this.open(node, true);
    else if (node && event.key === "ArrowLeft" && node.children.length && node.open) this.open(node, false);
    else if (node && event.key === "ArrowLeft" && node.parent) this.choose(node.parent, false);
    else return;
    event.preventDefault();
  }

  open(node, open) {
    node.open = open;
    this.refresh();
  }
}
