// list.js - a list of any length of which only the visible rows exist. Arrow keys move, Enter and the pointer choose.

const row_height = 24;
// Browsers cap the height of an element at some 30 million pixels; longer lists scroll in larger steps.
const tallest = 10_000_000;

export class list {
  #at = -1;
  #frame = 0;

  /// asked: {label, count(), row(i) -> {number, text, chosen, type}, choose(i)}
  constructor(host, asked) {
    this.asked = asked;
    this.box = document.createElement('div');
    this.box.className = 'scroller';
    this.box.tabIndex = 0;
    this.box.setAttribute('role', 'listbox');
    this.box.setAttribute('aria-label', asked.label);
    this.field = document.createElement('div');
    this.box.append(this.field);
    host.append(this.box);
    this.box.addEventListener('scroll', () => this.#later());
    this.box.addEventListener('keydown', (e) => this.#key(e));
    this.box.addEventListener('click', (e) => {
      const row = e.target.closest('.row');
      if (row) this.#choose(Number(row.dataset.i));
    });
  }

  get #scale() { return Math.max(1, (this.asked.count() * row_height) / tallest); }

  #set_height() { this.field.style.height = `${(this.asked.count() * row_height) / this.#scale}px`; }

  #later() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.render();
    });
  }

  #choose(i) {
    this.#at = i;
    this.asked.choose(i);
  }

  #key(e) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / row_height) - 1);
    const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    const count = this.asked.count();
    if (e.key in moves && count > 0) {
      this.#at = Math.max(0, Math.min(count - 1, this.#at + moves[e.key]));
      this.reveal(this.#at);
      this.asked.choose(this.#at);
    } else if (e.key === 'Enter' && this.#at >= 0) {
      this.asked.choose(this.#at, true);
    } else {
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  }

  /// Row i is the current one, and in sight.
  reveal(i) {
    this.#at = i;
    if (i < 0) return;
    this.#set_height();  // else there is nothing to scroll in when the list is shown for the first time
    const top = (i * row_height) / this.#scale;
    const height = this.box.clientHeight;
    if (top < this.box.scrollTop + row_height)
      this.box.scrollTop = Math.max(0, top - height / 3);
    else if (top > this.box.scrollTop + height - 2 * row_height)
      this.box.scrollTop = top - (2 * height) / 3;
  }

  render() {
    if (this.box.clientHeight === 0) return;  // not on the page
    const count = this.asked.count();
    const scale = this.#scale;
    this.#set_height();
    const first = Math.max(0, Math.floor((this.box.scrollTop * scale) / row_height) - 3);
    const last = Math.min(count, first + Math.ceil(this.box.clientHeight / row_height) + 6);
    const rows = [];
    for (let i = first; i < last; ++i) rows.push(this.#row(i, count, first, scale));
    this.field.replaceChildren(...rows);
    if (this.#at >= first && this.#at < last)
      this.box.setAttribute('aria-activedescendant', rows[this.#at - first].id);
    else
      this.box.removeAttribute('aria-activedescendant');
  }

  #row(i, count, first, scale) {
    const {number, text, chosen, type} = this.asked.row(i);
    const row = document.createElement('div');
    row.className = `row${type ? ` ${type}` : ''}`;
    row.id = `${this.asked.label.replaceAll(' ', '-')}-${i}`;
    row.dataset.i = i;
    row.setAttribute('role', 'option');
    row.setAttribute('aria-selected', chosen ? 'true' : 'false');
    row.setAttribute('aria-setsize', count);
    row.setAttribute('aria-posinset', i + 1);
    row.style.top = `${(first * row_height) / scale + (i - first) * row_height}px`;
    const n = document.createElement('span');
    n.className = 'n';
    n.textContent = number;
    row.append(n, text);
    row.title = text;
    return row;
  }
}
