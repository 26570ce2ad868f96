// The questions that wait. What is answered is what was shown: a card that has just come, or has just moved, takes no click.

import { call } from "./api.js";
import { element } from "./element.js";

/** How long a card must have stood where it is before it can be answered, in milliseconds. */
const STEADY = 500;

export class Asks {
  constructor(place) {
    this.place = place;
    this.cards = new Map();
    setInterval(() => this.tick(), 1000);
  }

  set(asks, now = performance.now()) {
    const keys = new Set(asks.map((ask) => `${ask.at}/${ask.id}`));
    for (const [key, card] of this.cards) {
      if (keys.has(key)) continue;
      card.made.remove();
      this.cards.delete(key);
    }
    for (const ask of asks) {
      const key = `${ask.at}/${ask.id}`;
      if (!this.cards.has(key)) this.cards.set(key, this.card(ask));
      this.cards.get(key).until = now + ask.seconds_left * 1000;
    }
    this.place.hidden = asks.length === 0;
    for (const card of this.cards.values()) {
      const top = card.made.offsetTop;
      if (top !== card.top) card.since = now;
      card.top = top;
    }
    document.title = asks.length ? `(${asks.length}) shellgate` : "shellgate";
    this.tick();
  }

  card(ask) {
    const card = { until: 0, top: -1, since: performance.now() };
    const reason = element("input", { type: "text", placeholder: "Reason, told to the agent", "aria-label": "Reason for a refusal", maxlength: "1000" });
    const said = element("span", { class: "said", role: "alert" });
    const answer = async (body) => {
      if (performance.now() - card.since < STEADY) {
        said.textContent = "This has just come or moved. Once more, if you mean it.";
        return;
      }
      buttons.forEach((button) => button.setAttribute("disabled", ""));
      try {
        await call(`/api/running/${ask.at}/asks/${ask.id}`, body);
      } catch (error) {
        said.textContent = error.message;
        buttons.forEach((button) => button.removeAttribute("disabled"));
      }
    };
    const deny = () => answer({ answer: "deny", reason: reason.value });
    const buttons = [
      element("button", { class: "once", text: "Allow once", onclick: () => answer({ answer: "once" }) }),
      element("button", { class: "remember", text: "Allow and remember", title: ask.scope, onclick: () => answer({ answer: "remember" }) }),
      element("button", { class: "deny", text: "Deny", onclick: deny }),
    ];
    reason.addEventListener("keydown", (event) => event.key === "Enter" && deny());
    card.left = element("span", { class: "note" });
    card.made = element(
      "article",
      { class: "card", "data-ask": `${ask.at}/${ask.id}` },
      element("p", { class: "question", text: `${ask.hook}: ${ask.question}` }),
      element("p", { class: "call", text: ask.call }),
      element("p", { class: "note", text: [ask.path, `session ${ask.session}`].filter(Boolean).join(" · ") }),
      ...this.folded(ask),
      element("p", { class: "note", text: `Remember would hold for: ${ask.scope}` }),
      element("div", { class: "answers" }, ...buttons, reason, card.left),
      said,
    );
    this.place.append(card.made);
    return card;
  }

  folded(ask) {
    const fold = (title, text, open) =>
      text && element("details", { open }, element("summary", { text: title }), element("pre", { text }));
    const argv = ask.argv?.map((word, at) => `${at}  ${word}`).join("\n");
    return [
      fold(`Arguments (${ask.argv?.length ?? 0})`, argv, false),
      fold("Script", ask.script, true),
      fold(`Input of ${ask.tool ?? "the tool"}`, ask.input, true),
    ].filter(Boolean);
  }

  tick() {
    for (const { left, until } of this.cards.values()) {
      left.textContent = `${Math.max(0, Math.round((until - performance.now()) / 1000))} s left, then it is refused`;
    }
  }
}
