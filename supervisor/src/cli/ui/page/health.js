// What a session runs under, and how its gate does: facts of its start, verdicts, faults and timeouts, each hook's answers.

import { clock, duration, element } from "./element.js";

export class Health {
  constructor() {
    this.start = undefined;
    this.totals = undefined;
    this.counts = { ran: 0, deny: 0, fault: 0, ask: 0, hook: 0, gap: 0, torn: 0 };
    this.defects = new Map();
    this.hooks = new Map();
  }

  add(row) {
    if (row.start) this.start = row;
    if (row.totals) this.totals = row.totals;
    if (row.kind in this.counts) this.counts[row.kind] += 1;
    if (row.defect) this.defects.set(row.defect, (this.defects.get(row.defect) ?? 0) + 1);
    for (const said of row.answers ?? []) {
      const hook = this.hooks.get(said.hook) ?? { none: 0, deny: 0, ask: 0, fault: 0, times: [] };
      hook[said.answer in hook ? said.answer : "fault"] += 1;
      hook.times.push(said.us);
      this.hooks.set(said.hook, hook);
    }
  }

  /** As elements, for a session of the list. `open` says whether the table of hooks is folded out. */
  shown(session, open) {
    const facts = this.start?.start;
    const command = this.start?.text || session.command || session.id;
    const state = session.running ? "running" : this.totals || session.ended ? "ended" : "no end recorded";
    const line = element("p", { class: "facts" }, element("span", { text: session.id }), element("span", { text: state }));
    if (facts) {
      line.append(
        element("span", { text: `started ${clock(this.start.time)} UTC` }),
        element("span", { text: `seal ${facts.seal}` }),
        element("span", { text: facts.config, title: `SHA-256 ${facts.digest}` }),
        element("span", { text: `digest ${facts.digest.slice(0, 12)}`, title: facts.digest }),
        element("span", { text: `shellgate ${facts.version}` }),
      );
    }
    const parts = [element("h2", { text: command }), line, this.chips(session)];
    for (const warning of facts?.warnings ?? []) parts.push(element("p", { class: "facts", text: `warning: ${warning}` }));
    if (session.blind) parts.push(element("p", { class: "facts", text: `asks cannot be answered here: ${session.blind}` }));
    if (this.hooks.size > 0 || facts) parts.push(this.table(facts, open));
    return parts;
  }

  chips(session) {
    const { ran, deny, fault, ask, hook, gap, torn } = this.counts;
    const all = [
      ["ran", ran, ""],
      ["refused", deny, deny ? "bad" : ""],
      ["refused by a fault", fault, fault ? "bad" : ""],
      ["timeouts", this.defects.get("timeout") ?? 0, this.defects.get("timeout") ? "bad" : ""],
      ["asked", ask, ""],
      ["observer faults", hook, hook ? "warn" : ""],
      ["remembered", session.remembered?.length ?? 0, ""],
      ["killed", this.totals?.killed ?? 0, this.totals?.killed ? "bad" : ""],
      ["lost or torn", (this.totals?.lost ?? 0) + gap + torn, gap + torn ? "warn" : ""],
    ];
    const shown = all.filter(([name, count]) => count > 0 || ["ran", "refused", "refused by a fault", "timeouts"].includes(name));
    const chip = ([name, count, mark]) => element("li", { class: mark }, element("b", { text: count }), ` ${name}`);
    return element("ul", { class: "chips", "aria-label": "Health" }, ...shown.map(chip));
  }

  table(facts, open) {
    const names = new Set([...(facts?.policy_hooks ?? []), ...this.hooks.keys()]);
    const head = ["policy hook", "calls", "none", "deny", "ask", "fault", "median", "longest"];
    const rows = [...names].map((name) => {
      const { none, deny, ask, fault, times } = this.hooks.get(name) ?? { none: 0, deny: 0, ask: 0, fault: 0, times: [] };
      const sorted = [...times].sort((one, other) => one - other);
      const at = (rank) => (sorted.length ? duration(sorted[Math.ceil((sorted.length - 1) * rank)]) : "–");
      const cells = [name, times.length, none, deny, ask, fault, at(0.5), at(1)];
      return element("tr", {}, ...cells.map((text) => element("td", { text })));
    });
    const observers = (facts?.observer_hooks ?? []).join(", ");
    return element(
      "details",
      { class: "hooks", open },
      element("summary", { text: `Hooks (${names.size})` }),
      element("table", {}, element("tr", {}, ...head.map((text) => element("th", { text }))), ...rows),
      observers && element("p", { class: "facts", text: `observers: ${observers}` }),
    );
  }
}
