// steps.js - what each event of a trace does to the tree, and how it is undone.
//
// apply[kind](tree, event) changes the tree and returns what revert[kind](tree, event, kept) needs besides the state
// after the event. A tree is changed in place: a copy per event would make stepping through large trees slow.
//
// A node, beyond what trace-format.md says: `slots`; `latch` (the worker who has it, or null); `loose`: "" when its
// parent knows it, "copy" from split to link, "linked" from link until a post or grow names it; `retries`, counted;
// `gone`, taken out.
import {cut_of, cut_slot, known, make, node_of, put_slot, remove, set_loose, slot_of} from './change.js';
import {apply_radix, revert_radix} from './steps_radix.js';

export class worker {
  constructor(w) {
    this.w = w;
    this.op = null;  // the begin event of the operation under way
    this.path = [];  // names of nodes, as they were reached
    this.by = [];    // how: root, child, link, lane, again
    this.last = -1;  // its last event
    this.operations = 0;
    this.retries = 0;
  }
}

const counts = (node) => node.level === 0 && node.loose !== 'copy';

/// Whoever names `from` names `to`; `above`, where a trace tells it, is the only one.
function rename(tree, from, to, above) {
  const named = above === undefined ? tree.nodes.values() : [tree.nodes.get(above)].filter(Boolean);
  for (const node of named) {
    if (node.children) node.children = node.children.map((c) => (c === from ? to : c));
    if (node.right === from) node.right = to;
  }
  if (tree.root === from) tree.root = to;
}

export const apply = {
  begin(tree, e) {
    const who = tree.worker(e.w);
    const kept = {op: who.op, path: who.path, by: who.by};
    who.op = e;
    who.path = [];
    who.by = [];
    return kept;
  },
  end(tree, e) {
    const who = tree.worker(e.w);
    const op = who.op;
    who.op = null;
    ++who.operations;
    ++tree.operations;
    return op;
  },
  reach(tree, e) {
    // A team may be on its way to a node of a radix tree that is replaced meanwhile.
    if (tree.header.index !== 'radix') node_of(tree, e);
    const who = tree.worker(e.w);
    who.path.push(e.n);
    who.by.push(e.by);
  },
  latch(tree, e) {
    const node = node_of(tree, e);
    const kept = {version: node.version, latch: node.latch};
    node.version = e.version + 1;
    node.latch = e.w;
    if (kept.latch === null) ++tree.latched;
    return kept;
  },
  unlatch(tree, e) {
    const node = node_of(tree, e);
    const kept = {version: node.version, latch: node.latch};
    node.version = e.version;
    node.latch = null;
    if (kept.latch !== null) --tree.latched;
    return kept;
  },
  insert(tree, e) {
    const node = node_of(tree, e);
    slot_of(e, node, node.keys.length);
    node.keys.splice(e.at, 0, e.key);
    if (counts(node)) ++tree.keys;
  },
  erase(tree, e) {
    const node = node_of(tree, e);
    slot_of(e, node, node.keys.length - 1);
    const [key] = node.keys.splice(e.at, 1);
    if (counts(node)) --tree.keys;
    return key;
  },
  assign(tree, e) {
    const node = node_of(tree, e);
    slot_of(e, node, node.keys.length - 1);
  },
  split(tree, e) {
    const node = node_of(tree, e);
    cut_of(e, node);
    tree.copies.add(make(tree, e, e.new, {
      level: node.level,
      right: node.right,
      high: node.high,
      keys: node.keys.slice(e.keep),
      children: node.children ? node.children.slice(e.keep) : null,
      kind: node.kind,
      from: node.n,
      loose: 'copy'
    }));
    ++tree.structure;
  },
  link(tree, e) {
    const node = node_of(tree, e);
    const right = node_of(tree, e, e.right);
    cut_of(e, node);
    const kept = {keys: node.keys, children: node.children, right: node.right, high: node.high, loose: right.loose};
    if (node.level === 0) tree.keys -= node.keys.length - e.keep;
    node.keys = node.keys.slice(0, e.keep);
    node.children = node.children ? node.children.slice(0, e.keep) : null;
    node.right = e.right;
    node.high = e.high;
    set_loose(tree, right, 'linked');
    ++tree.structure;
    return kept;
  },
  post(tree, e) {
    const node = node_of(tree, e);
    if (tree.header.index === 'radix') return apply_radix.post(tree, e, node);
    put_slot(tree, e, node);
    return known(tree, e.child);
  },
  grow(tree, e) {
    const node = node_of(tree, e);
    cut_of(e, node);
    const kept =
        {level: node.level, right: node.right, high: node.high, keys: node.keys, children: node.children, loose: ''};
    const left = make(tree, e, e.left, {
      level: node.level,
      right: e.right,
      high: e.high,
      keys: node.keys.slice(0, e.keep),
      children: node.children ? node.children.slice(0, e.keep) : null
    });
    if (node.level === 0) tree.keys -= node.keys.length - e.keep;
    ++node.level;
    node.right = null;
    node.high = null;
    node.keys = [left.keys[0] ?? '0', e.key];
    node.children = [e.left, e.right];
    kept.loose = known(tree, e.right);
    tree.reshape();
    return kept;
  },
  merge(tree, e) {
    const node = node_of(tree, e);
    const dead = node_of(tree, e, e.dead);
    const kept = {keys: node.keys, right: node.right, high: node.high, dead_right: dead.right, loose: dead.loose};
    node.keys = node.keys.concat(dead.keys);
    node.right = dead.right;
    node.high = dead.high;
    dead.dead = true;
    dead.right = node.n;
    set_loose(tree, dead, '');
    ++tree.structure;
    return kept;
  },
  retry(tree, e) {
    const node = tree.nodes.get(e.n);
    if (node !== undefined) ++node.retries;
    const who = tree.worker(e.w);
    ++who.retries;
    ++tree.retries;
  },
  kind(tree, e) {
    const node = node_of(tree, e);
    const fresh = e.version === undefined ? {} : {version: e.version, latch: null};
    make(tree, e, e.new, {...node, n: e.new, kind: e.to, ...fresh});
    if (e.version !== undefined && node.latch !== null) --tree.latched;
    remove(tree, e.n);
    rename(tree, e.n, e.new, e.above);
    tree.reshape();
    return node;
  },
  leaf: apply_radix.leaf,
  branch: apply_radix.branch,
  drop: apply_radix.drop,
  join: apply_radix.join,
  state(tree, e) { return tree.replace(e.state);},
};

export const revert = {
  begin(tree, e, kept) { Object.assign(tree.worker(e.w), kept);},
  end(tree, e, op) {
    const who = tree.worker(e.w);
    who.op = op;
    --who.operations;
    --tree.operations;
  },
  reach(tree, e) {
    const who = tree.worker(e.w);
    who.path.pop();
    who.by.pop();
  },
  latch(tree, e, kept) {
    if (kept.latch === null) --tree.latched;
    Object.assign(tree.nodes.get(e.n), kept);
  },
  unlatch(tree, e, kept) {
    if (kept.latch !== null) ++tree.latched;
    Object.assign(tree.nodes.get(e.n), kept);
  },
  insert(tree, e) {
    const node = tree.nodes.get(e.n);
    node.keys.splice(e.at, 1);
    if (counts(node)) --tree.keys;
  },
  erase(tree, e, key) {
    const node = tree.nodes.get(e.n);
    node.keys.splice(e.at, 0, key);
    if (counts(node)) ++tree.keys;
  },
  assign() {},
  split(tree, e) {
    tree.copies.delete(tree.nodes.get(e.new));
    remove(tree, e.new);
    ++tree.structure;
  },
  link(tree, e, kept) {
    const node = tree.nodes.get(e.n);
    const {loose, ...members} = kept;
    if (node.level === 0) tree.keys += kept.keys.length - node.keys.length;
    Object.assign(node, members);
    set_loose(tree, tree.nodes.get(e.right), loose);
    ++tree.structure;
  },
  post(tree, e, loose) {
    if (tree.header.index === 'radix') return revert_radix.post(tree, e, loose);
    cut_slot(tree, e, tree.nodes.get(e.n));
    const child = tree.nodes.get(e.child);
    if (child !== undefined) set_loose(tree, child, loose);
  },
  grow(tree, e, kept) {
    const {loose, ...members} = kept;
    const node = tree.nodes.get(e.n);
    Object.assign(node, members);
    if (node.level === 0) tree.keys += node.keys.length - e.keep;
    remove(tree, e.left);
    const right = tree.nodes.get(e.right);
    if (right !== undefined) set_loose(tree, right, loose);
    tree.reshape();
  },
  merge(tree, e, kept) {
    const {dead_right, loose, ...members} = kept;
    Object.assign(tree.nodes.get(e.n), members);
    const dead = tree.nodes.get(e.dead);
    dead.dead = false;
    dead.right = dead_right;
    set_loose(tree, dead, loose);
    ++tree.structure;
  },
  retry(tree, e) {
    const node = tree.nodes.get(e.n);
    if (node !== undefined) --node.retries;
    const who = tree.worker(e.w);
    --who.retries;
    --tree.retries;
  },
  kind(tree, e, node) {
    remove(tree, e.new);
    node.gone = false;
    tree.nodes.set(e.n, node);
    if (e.version !== undefined && node.latch !== null) ++tree.latched;
    rename(tree, e.new, e.n, e.above);
    tree.reshape();
  },
  leaf: revert_radix.leaf,
  branch: revert_radix.branch,
  drop: revert_radix.drop,
  join: revert_radix.join,
  state(tree, e, before) { tree.put_back(before);},
};
