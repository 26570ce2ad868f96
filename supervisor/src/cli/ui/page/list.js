// A list of which only the visible part exists: a session of many thousand rows costs as much as one of fifty.

import { element } from "./element.js";

/** Rows beyond the visible part, in pixels. */
const MARGIN = 400;

export class List {
  /** `height(item)` in pixels, and `draw(item)`, its element: the same one as long as it looks the same, so that what is
   *  selected or scrolled in it stays. */
  constructor(place, height, draw) {
    this.place = place;
    this.height = height;
    this.draw = draw;
    this.items = [];
    this.tops = [0];
    this.drawn = new Set();
    this.space = element("div", { class: "space" });
    this.empty = element("p", { class: "empty", hidden: true });
    place.replaceChildren(this.space, this.empty);
    this.wanted = false;
    place.addEventListener("scroll", () => this.soon(), { passive: true });
    new ResizeObserver(() => this.soon()).observe(place);
  }

  /** Other items. Whoever was at the end stays at the end. */
  set(items, nothing) {
    const atEnd = this.place.scrollTop > 0 && this.place.scrollTop + this.place.clientHeight >= this.tops.at(-1) - 30;
    this.items = items;
    this.measure();
    this.empty.hidden = items.length > 0;
    this.empty.textContent = nothing;
    if (atEnd) this.place.scrollTop = this.tops.at(-1);
    this.paint();
  }

  measure() {
    this.tops = new Float64Array(this.items.length + 1);
    for (let at = 0; at < this.items.length; at += 1) this.tops[at + 1] = this.tops[at] + this.height(this.items[at]);
    this.space.style.height = `${this.tops.at(-1)}px`;
  }

  soon() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      this.paint();
    });
  }

  paint() {
    const from = this.place.scrollTop - MARGIN;
    const to = this.place.scrollTop + this.place.clientHeight + MARGIN;
    const fresh = new Set();
    for (let at = this.first(from); at < this.items.length && this.tops[at] < to; at += 1) {
      const made = this.draw(this.items[at]);
      made.style.top = `${this.tops[at]}px`;
      fresh.add(made);
      if (!made.isConnected) this.space.append(made);
    }
    this.drawn.forEach((made) => fresh.has(made) || made.remove());
    this.drawn = fresh;
  }

  /** The first item that ends below this place. */
  first(top) {
    let [low, high] = [0, this.items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= top) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Brings an item into view. */
  show(at) {
    const [top, end] = [this.tops[at], this.tops[at + 1]];
    if (top < this.place.scrollTop) this.place.scrollTop = top;
    else if (end > this.place.scrollTop + this.place.clientHeight) this.place.scrollTop = end - this.place.clientHeight;
    this.paint();
  }
}
