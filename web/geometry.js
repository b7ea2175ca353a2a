// geometry.js - units of leaves to pixels, and how much of a node there is room for.
//
//   cells   every slot with its key        card    name, first and last key, gauge
//   chip    name and gauge                 bar     a gauge            heat    several nodes share a column

const wide_gutter = 108;
const narrow_gutter = 58;
const top = 34;
const bottom = 40;

export class geometry {
  constructor({width, height, arrangement, view, slots, digits}) {
    this.width = width;
    this.height = height;
    this.arrangement = arrangement;
    this.gutter = width < 520 ? narrow_gutter : wide_gutter;
    this.inner = Math.max(50, width - this.gutter - 14);
    this.cell = Math.max(24, Math.min(90, 7 * digits + 9));
    const cells = slots * this.cell;
    // Nodes of many slots show a selection of their keys instead.
    this.natural = cells <= 420 ? cells : 150;
    this.cells_fit = cells <= 420;
    this.closest = this.natural + 26;  // pixels of a unit at the closest
    this.#set_view(view);
    this.#set_rows(arrangement.rows.length);
  }

  /// view: null (all of it) or {from, to} in units.
  #set_view(view) {
    const units = this.arrangement.width;
    const fits = Math.min(this.inner / units, this.closest);
    this.fits = view === null;
    this.scale = view === null ? fits : Math.min(this.closest, Math.max(fits, this.inner / (view.to - view.from)));
    const visible = this.inner / this.scale;
    const middle = view === null ? units / 2 : (view.from + view.to) / 2;
    const half = visible / 2;
    // Not beyond the ends, unless all of it is to be seen.
    const centre = visible >= units ? units / 2 : Math.min(Math.max(middle, half), units - half);
    this.from = centre - half;
    this.to = centre + half;
  }

  #set_rows(rows) {
    const room = this.height - top - bottom;
    this.step = rows <= 1 ? room : Math.max(30, Math.min(168, (room - 50) / (rows - 1)));
    this.card = Math.max(16, Math.min(50, this.step * 0.58));
    const used = (rows - 1) * this.step + this.card;
    this.top = top + Math.max(0, (room - used) / 2.4);
  }

  x(unit) { return this.gutter + (unit - this.from) * this.scale; }
  unit(x) { return this.from + (x - this.gutter) / this.scale; }
  y(row) { return this.top + row * this.step; }
  row_at(y) { return Math.round((y - this.top - this.card / 2) / this.step); }

  /// First and last node of a row that can be seen: [from, to).
  visible(row) {
    const first = (ends, limit) => {
      let low = 0;
      let high = ends.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (ends[middle] <= limit)
          low = middle + 1;
        else
          high = middle;
      }
      return low;
    };
    const from = first(row.x1, this.from);
    let to = from;
    // x0 ascends, too.
    to = Math.min(row.nodes.length, Math.max(from, first(row.x0, this.to)));
    return [from, to];
  }

  /// The box of a node: above the middle of what can be seen of its span.
  box(row, i, r) {
    const left = Math.max(row.x0[i], this.from);
    const right = Math.min(row.x1[i], this.to);
    const span = Math.max(0, right - left) * this.scale;
    const gap = span > 60 ? 22 : Math.min(10, span * 0.16);
    const w = Math.max(1, Math.min(this.natural, span - gap));
    const middle = this.x((left + right) / 2);
    return {x: middle - w / 2, y: this.y(r), w, h: this.card, middle, span};
  }

  detail(w, slots) {
    if (this.cells_fit && w >= slots * (this.cell - 4) * 0.86 && this.card >= 30) return 'cells';
    if (w >= 74 && this.card >= 30) return 'card';
    if (w >= 13) return 'chip';
    return 'bar';
  }

  /// Do nodes of this row share columns?
  is_heat(row) {
    const [from, to] = this.visible(row);
    return to - from > 40 && this.inner / Math.max(1, to - from) < 3.2;
  }
}
