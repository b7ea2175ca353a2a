// far.js - a tree that is too large to come to the page: the server has it, and tells what is to be seen.
//
// Seen from afar its levels are cells, each the mean of many nodes (summary). A node is looked at with its surroundings
// (around), which are drawn like any small tree. Both are asked for whenever the moment changes, and come when they
// come: meanwhile the page shows what it had. Where teams are and what they do is told by the events, which are all
// here.
import {compare} from './keys.js';
import {tree} from './replay.js';
import * as server from './server.js';
import {apply, revert} from './steps.js';

/// Trees with more nodes than that stay where they are.
export const most_nodes = 300_000;
const cells = 1024;
const pause_ms = 120;

/// A leaf with some neighbours, so that keys can be read; an inner node with all of its children.
const reach_of = (name) => (name.startsWith('l') ? 4 : 16);
const nothing = () => undefined;
const quiet = (steps) => Object.fromEntries(Object.keys(steps).map((kind) => [kind, nothing]));

/// Events change teams only; the tree is the server's.
export const far_steps = {
  apply: {
    ...quiet(apply),
    begin: apply.begin,
    end: apply.end,
    retry: apply.retry,
    reach(all, e) {
      const who = all.worker(e.w);
      who.path.push(e.n);
      who.by.push(e.by);
    }
  },
  revert: {...quiet(revert), begin: revert.begin, end: revert.end, reach: revert.reach, retry: revert.retry}
};

function cell_node(cell, level, header) {
  return {
    n: cell.first,
    level,
    version: 0,
    dead: false,
    right: null,
    high: null,
    keys: [cell.low],
    children: null,
    kind: null,
    prefix: null,
    slots: header.slots,
    latch: cell.latched > 0 ? -1 : null,
    loose: cell.unposted > 0 ? 'linked' : '',
    retries: 0,
    gone: false,
    from: null,
    cell  // what it stands for
  };
}

/// Cells side by side, in units of leaves; those of upper levels above the leaves that they lead to.
function cell_rows(summary, header) {
  const leaves = summary.levels.at(-1);
  const begins = [];
  let width = 0;
  for (const {nodes} of leaves.cells) {
    begins.push(width);
    width += nodes;
  }
  const begin_of = (low) => {
    let from = 0;
    let to = leaves.cells.length;
    while (to - from > 1) {
      const middle = (from + to) >> 1;
      if (compare(leaves.cells[middle].low, low) <= 0)
        from = middle;
      else
        to = middle;
    }
    return begins[from] ?? 0;
  };
  const rows = summary.levels.map((level, r) => {
    const nodes = level.cells.map((cell) => cell_node(cell, level.level, header));
    const n = nodes.length;
    const row = {level: level.level, nodes, all: level.nodes};
    row.x0 = Float64Array.from(level.cells, (cell, i) => (level === leaves ? begins[i] : begin_of(cell.low)));
    row.x1 = Float64Array.from(row.x0, (_, i) => (i + 1 < n ? row.x0[i + 1] : width));
    row.used = Uint16Array.from(level.cells, (cell) => Math.round(cell.fill * 1000));
    row.slots = new Uint16Array(n).fill(1000);
    row.flags = Uint8Array.from(nodes, (node) => (node.latch !== null ? 1 : 0) | (node.loose !== '' ? 2 : 0));
    nodes.forEach((node, i) => Object.assign(node, {row: r, i}));
    return row;
  });
  return {rows, width: Math.max(1, width)};
}

export class far_view {
  #timer = 0;
  #asking = false;
  #wanted = -1;

  /// source.far is the summary at the start. changed(): there is something new to be seen.
  constructor(source, changed) {
    this.id = source.id;
    this.header = source.trace.header;
    this.changed = changed;
    this.tree = new tree(this.header);
    this.middle = null;  // the node whose surroundings are shown; null: all of the tree
    this.part = null;    // ... and these
    this.trouble = null;
    this.#take(source.far, null);
  }

  #take(summary, part) {
    this.summary = summary;
    this.part = part;
    if (part === null) {
      this.arrangement = cell_rows(summary, this.header);
      this.tree.nodes = new Map(this.arrangement.rows.flatMap((row) => row.nodes.map((node) => [node.n, node])));
      ++this.tree.structure;
    } else {
      this.arrangement = null;
      this.tree.replace(part.state);
    }
    this.tree.keys = summary.keys;
    const leaves = summary.levels.at(-1);
    const sum = (what) => summary.levels.reduce((all, level) => level.cells.reduce((n, c) => n + c[what], all), 0);
    this.leaves = leaves.nodes;
    this.levels = summary.levels.length;
    this.nodes = summary.nodes;
    this.tree.latched = sum('latched');
    this.tree.unposted = sum('unposted');
  }

  /// The moment is another one: soon, unless it changes again at once.
  seek(at) {
    if (at === this.summary.at && this.#wanted < 0) return;
    this.#wanted = at;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), pause_ms);
  }

  /// Asks for what is to be seen now; one question at a time, and the last wish counts.
  async refresh() {
    if (this.#asking) return;
    this.#asking = true;
    try {
      while (this.#wanted >= 0) {
        const at = this.#wanted;
        const middle = this.middle;
        const summary = at === this.summary.at ? this.summary : await server.summary(this.id, at, cells);
        let part = null;
        if (middle !== null) part = await server.around(this.id, at, middle, reach_of(middle)).catch(() => null);
        if (this.#wanted !== at || this.middle !== middle) continue;
        this.#wanted = -1;
        if (part === null) this.middle = null;
        this.#take(summary, part);
      }
      this.trouble = null;
    } catch (error) {
      this.#wanted = -1;
      this.trouble = error.message;
    }
    this.#asking = false;
    this.changed();
  }

  /// A node with its surroundings; null: all of it again.
  async show(name) {
    this.middle = name;
    if (this.#wanted < 0) this.#wanted = this.summary.at;
    clearTimeout(this.#timer);
    await this.refresh();
  }

  /// {found, path}, and shows where it ends.
  async search(key) {
    const at = this.#wanted < 0 ? this.summary.at : this.#wanted;
    const {found, path} = await server.path(this.id, at, key);
    if (path.length > 0) await this.show(path.at(-1).n);
    return {found, path};
  }
}
