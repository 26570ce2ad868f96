// Refuses force-pushes. A policy hook as a component, in JavaScript.
//
//     npm install componentize-qjs@0.4.5
//     npx componentize-qjs --wit supervisor/wit -n hook --stub-wasi --sync -j examples/wasm/guard.js -o guard.wasm
//
// `--stub-wasi` leaves out what a hook is not given: files, variables, the network. An exception ends the call, and a
// policy that cannot answer refuses.

const SHARED = ["main", "master"];

export const handler = {
  handle(event) {
    const call = JSON.parse(event);
    if (call.event !== "on-shell") throw `this hook is about commands, not about ${call.event}`;
    return JSON.stringify(judge(call));
  },
};

function judge({ name, argv }) {
  const has = (...words) => words.some((word) => argv.includes(word));
  if (name !== "git" || !has("push")) return { verdict: "none" };
  if (has("-f", "--force")) return { verdict: "deny", reason: "force-pushing rewrites shared history" };
  if (has(...SHARED)) return { verdict: "ask", reason: "push to a branch that others work on?" };
  return { verdict: "none" };
}
