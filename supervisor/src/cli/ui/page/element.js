// Elements out of text. Nothing here reads markup: what a watched program wrote can only ever be text.

/** An element with properties (`class`, `text`, `data-…`, `aria-…`, listeners as `onclick`) and children. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

/** `183.4 ms` of microseconds. */
export function duration(us) {
  if (us < 1000) return `${us} µs`;
  if (us < 1000000) return `${(us / 1000).toFixed(1)} ms`;
  if (us < 60000000) return `${(us / 1000000).toFixed(1)} s`;
  return `${Math.floor(us / 60000000)} min ${Math.floor((us % 60000000) / 1000000)} s`;
}

/** `23:04:01.123` of an RFC 3339 time in UTC; whatever else stands there, as it is. */
export function clock(time) {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(time) ? time.slice(11, 23).replace("Z", "") : time;
}
