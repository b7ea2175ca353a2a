// replay.js - a tree at one moment of its trace, and how to get to another moment.
//
// Every event can be undone, so a step back costs what a step forward costs, whatever the size of tree and trace.
import {apply, revert, worker} from './steps.js';

/// Which nodes no parent and no lane names: those were split off and not posted. The leftmost one of each level needs
/// none.
function find_unposted(nodes, state) {
  const named = new Set([state.root]);
  const linked = new Set();
  for (const node of nodes.values()) {
    for (const child of node.children ?? []) named.add(child);
    if (node.right !== null && !node.dead) linked.add(node.right);
  }
  for (const entry of state.lane ?? []) named.add(entry.leaf);
  const top = nodes.get(state.root)?.level ?? 0;
  let unposted = 0;
  for (const node of nodes.values()) {
    if (node.dead || named.has(node.n) || !linked.has(node.n) || node.level >= top) continue;
    node.loose = 'linked';
    ++unposted;
  }
  return unposted;
}

const radix_slots = {
  node4: 4,
  node16: 16,
  node48: 48,
  node256: 256,
  leaf: 1,
  root: 1
};
const group_lines = 23;  // of a static tree

/// Room of a node, where the header's number is not that of every node.
function slots_of(header, {level, kind, keys}) {
  if (kind) return radix_slots[kind] ?? keys.length;
  if (level === 0 || header.protocol !== 'none') return header.slots;
  return level === 1 ? Math.max(group_lines, keys.length) : keys.length;
}

export class tree {
  constructor(header) {
    this.header = header;
    this.linked = header.protocol !== 'none';  // a B-link or B+tree, alone or inside a hybrid tree
    this.workers = new Map();
    this.operations = 0;
    this.retries = 0;
    this.structure =
        0;  // counts changes of the shape, forwards and back: whoever drew another number must arrange anew,
    this.generation = 0;      // ... and from nothing if levels came, went or were replaced
    this.copies = new Set();  // nodes that are split off and not linked
    this.touched = [];        // nodes that changed since somebody asked: arrange.js empties it
    this.replace(header.start);
  }

  slots_of(node) { return slots_of(this.header, node); }

  reshape() {
    ++this.structure;
    ++this.generation;
  }

  worker(w) {
    let who = this.workers.get(w);
    if (who === undefined) this.workers.set(w, (who = new worker(w)));
    return who;
  }

  /// Another state, whole. Returns what put_back() wants.
  replace(state) {
    const before = {
      copies: this.copies,
      nodes: this.nodes,
      root: this.root,
      lane: this.lane,
      keys: this.keys,
      unposted: this.unposted,
      latched: this.latched
    };
    this.nodes = new Map();
    this.copies = new Set();
    this.root = state.root;
    this.lane = state.lane ?? [];
    this.keys = 0;
    this.latched = 0;
    for (const given of state.nodes) {
      const latched = given.version % 2 === 1;
      this.nodes.set(given.n, {
        n: given.n,
        level: given.level,
        version: given.version ?? 0,
        dead: given.dead ?? false,
        right: given.right ?? null,
        high: given.high ?? null,
        keys: given.keys.slice(),
        children: given.children?.slice() ?? null,
        kind: given.kind ?? null,
        prefix: given.prefix ?? null,
        slots: slots_of(this.header, given),
        latch: latched ? -1 : null,
        loose: '',
        retries: 0,
        gone: false,
        seen: 0,
        pointed: 0,
        row: 0,
        i: 0,
        from: null
      });
      if (latched) ++this.latched;
      if (given.level === 0 && !given.dead) this.keys += given.keys.length;
    }
    this.unposted = this.linked ? find_unposted(this.nodes, state) : 0;
    this.reshape();
    return before;
  }

  put_back(before) {
    Object.assign(this, before);
    this.reshape();
  }

  /// The state as trace files have it.
  state() {
    const nodes = [];
    for (const {n, level, version, dead, right, high, keys, children, kind, prefix} of this.nodes.values()) {
      const node = {n, level, version, dead, right, high, keys};
      if (children) node.children = children;
      if (kind) node.kind = kind;
      if (prefix) node.prefix = prefix;
      nodes.push(node);
    }
    return {root: this.root, nodes, lane: this.lane};
  }
}

export class replay {
  /// Another `all` and other `steps` for a tree that is not here (far.js).
  constructor(trace, all = new tree(trace.header), steps = {apply, revert}) {
    this.trace = trace;
    this.tree = all;
    this.steps = steps;
    this.at = 0;         // events that have happened
    this.kept = [];      // for each of them, what undoing it needs
    this.previous = [];  // ... and the event of the same worker before it
  }

  get length() { return this.trace.events.length; }

  /// Stands after `at` events; a bad event throws bad_trace and leaves the tree as it was before that event.
  seek(at) {
    const to = Math.max(0, Math.min(at, this.length));
    while (this.at < to) this.#forward();
    while (this.at > to) this.#back();
    return this.at;
  }

  #forward() {
    const e = this.trace.events[this.at];
    this.kept[this.at] = this.steps.apply[e.e](this.tree, e);
    this.#touch(e);
    const who = this.tree.worker(e.w);
    this.previous[this.at] = who.last;
    who.last = this.at++;
  }

  #back() {
    const e = this.trace.events[--this.at];
    this.tree.worker(e.w).last = this.previous[this.at];
    this.steps.revert[e.e](this.tree, e, this.kept[this.at]);
    this.#touch(e);
    this.kept.length = this.at;
  }

  #touch(e) {
    const {nodes, touched} = this.tree;
    if (e.n === undefined || e.e === 'reach') return;
    const node = nodes.get(e.n);
    if (node !== undefined) touched.push(node);
    for (const name of [e.new, e.child]) {
      const other = name === undefined ? undefined : nodes.get(name);
      if (other !== undefined) touched.push(other);
    }
  }

  /// Workers whose last event was a retry, by node: Map of name -> [worker].
  retrying() {
    const found = new Map();
    for (const who of this.tree.workers.values()) {
      if (who.last < 0) continue;
      const e = this.trace.events[who.last];
      if (e.e === 'retry') found.set(e.n, [...(found.get(e.n) ?? []), who.w]);
    }
    return found;
  }

  /// The event that led here, or null at the start.
  event() { return this.at > 0 ? this.trace.events[this.at - 1] : null; }
}
