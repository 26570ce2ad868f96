// Speaks to the server. The token stands behind the # of the link, which browsers do not send; it goes into a header, is
// taken out of the address bar, and is kept for reloads where only this origin, port included, can read it.

const KEY = "shellgate-token";
let token = location.hash.slice(1);
if (token) {
  sessionStorage.setItem(KEY, token);
  history.replaceState(null, "", location.pathname);
} else {
  token = sessionStorage.getItem(KEY) ?? "";
}

/** After a connection was lost, in milliseconds. */
const AGAIN = 1000;

const headers = () => ({ Authorization: `Bearer ${token}` });

/** The JSON that a request gets; what went wrong is an Error in the server's words. */
export async function call(path, body) {
  const request = { headers: headers(), cache: "no-store" };
  if (body !== undefined) {
    request.method = "POST";
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  const answer = await fetch(path, request);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** Server-sent events until `signal` says stop: `on(event, data)`. Goes on behind the last id after a loss. `told` gets what
 *  keeps it from working, and nothing once it works. */
export async function listen(path, signal, on, told = () => {}) {
  let last = "";
  while (!signal.aborted) {
    try {
      const wanted = last ? { ...headers(), "Last-Event-ID": last } : headers();
      const answer = await fetch(path, { headers: wanted, cache: "no-store", signal });
      if (!answer.ok) {
        told((await answer.text()).trim());
        if (answer.status === 401) return;
      } else {
        told("");
        for await (const message of messages(answer.body)) {
          if (signal.aborted) return;
          if (message.event === "restart") last = "";
          on(message.event, message.data);
          if (message.id) last = message.id;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      told("The page's server does not answer. Is `shellgate ui` still running?");
    }
    await new Promise((done) => setTimeout(done, AGAIN));
  }
}

async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const whole = (waiting + value).split("\n\n");
    waiting = whole.pop();
    for (const text of whole) {
      const message = parsed(text);
      if (message) yield message;
    }
  }
}

function parsed(text) {
  const message = { event: "message", data: undefined, id: "" };
  for (const line of text.split("\n")) {
    if (line.startsWith("id: ")) message.id = line.slice(4);
    else if (line.startsWith("event: ")) message.event = line.slice(7);
    else if (line.startsWith("data: ")) message.data = JSON.parse(line.slice(6));
  }
  return message.data === undefined ? undefined : message;
}
