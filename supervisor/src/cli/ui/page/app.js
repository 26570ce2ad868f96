// The page: the list of sessions, the one that is looked at, and what waits for an answer.

import { listen } from "./api.js";
import { Asks } from "./asks.js";
import { element } from "./element.js";
import { Health } from "./health.js";
import { Timeline } from "./timeline.js";

const at = (id) => document.getElementById(id);
const FILTERS = [["all", "All"], ["ran", "Ran"], ["refused", "Refused"], ["faults", "Faults"], ["asks", "Asks"], ["failed", "Failed"]];

const asks = new Asks(at("asks"));
const timeline = new Timeline(at("timeline"), (count, of) => {
  at("count").textContent = count === of ? `${of} rows` : `${count} of ${of} rows`;
});
let sessions = [];
let shown = "";
let chosen = false;
let health = new Health();
let reading = new AbortController();

function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = !text;
}

function headline() {
  const session = sessions.find((session) => session.id === shown);
  const open = at("head").querySelector("details")?.open ?? false;
  at("head").replaceChildren(...(session ? health.shown(session, open) : []));
}

function look(id) {
  if (id === shown) return;
  shown = id;
  reading.abort();
  reading = new AbortController();
  const fresh = () => {
    health = new Health();
    timeline.clear(id);
  };
  fresh();
  const on = (event, data) => {
    if (event === "restart") fresh();
    else if (event === "now") timeline.caughtUp();
    else if (event === "failed") notice(data);
    else if (event === "rows") {
      data.forEach((row) => health.add(row));
      timeline.add(data);
      headline();
    }
  };
  listen(`/api/sessions/${encodeURIComponent(id)}/rows`, reading.signal, on, notice);
  list();
  headline();
}

function list() {
  const words = at("session-search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = sessions.filter((session) => words.every((word) => `${session.id} ${session.command}`.toLowerCase().includes(word)));
  const had = document.activeElement?.dataset?.session;
  at("sessions").replaceChildren(...wanted.map((session) => {
    const state = session.running ? (session.interactive ? "running, asks" : "running") : session.ended ? "ended" : "no end";
    const facts = `${session.start.slice(0, 16).replace("T", " ")} · ${state} · ${session.allowed} ran, ${session.refused} refused`;
    const button = element(
      "button",
      { "data-session": session.id, "aria-current": String(session.id === shown), title: session.command, onclick: () => { chosen = true; look(session.id); } },
      element("span", { class: "command", text: session.command || session.id }),
      element("span", { class: "facts", text: facts }),
    );
    return element("li", {}, button);
  }));
  if (had) [...at("sessions").querySelectorAll("button")].find((button) => button.dataset.session === had)?.focus();
}

function filters() {
  const buttons = FILTERS.map(([name, text]) => element("button", { text, "data-show": name, "aria-pressed": String(name === "all"), onclick: () => filter(name) }));
  at("filters").replaceChildren(...buttons);
}

function filter(name) {
  for (const button of at("filters").children) button.setAttribute("aria-pressed", String(button.dataset.show === name));
  timeline.search(at("search").value, name);
}

const filtered = () => at("filters").querySelector("[aria-pressed=true]").dataset.show;

filters();
at("search").addEventListener("input", () => timeline.search(at("search").value, filtered()));
at("session-search").addEventListener("input", list);
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement;
  if (event.key === "/" && !typing) {
    event.preventDefault();
    at("search").focus();
  } else if (event.key === "Escape" && event.target === at("search")) {
    at("search").value = "";
    timeline.search("", filtered());
    at("timeline").focus();
  }
});

listen("/api/live", new AbortController().signal, (event, state) => {
  if (event !== "state") return;
  sessions = state.sessions;
  asks.set(state.asks);
  // Until a session was chosen, the newest is looked at.
  if (sessions.length && !chosen) look(sessions[0].id);
  list();
  headline();
}, notice);
