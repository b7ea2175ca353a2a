// change.js - small changes of a tree that the steps of all its kinds are made of, and what they say where an event
// does not fit.
import {bad_trace} from './trace.js';

export function say(e, sentence) { return new bad_trace(`event ${e.i} ${sentence}`, e.i + 2); }

export function node_of(tree, e, name = e.n) {
  const node = tree.nodes.get(name);
  if (node === undefined) throw say(e, `speaks of node ${name}, which does not exist at that moment.`);
  return node;
}

export function make(tree, e, name, members) {
  if (tree.nodes.has(name)) throw say(e, `makes node ${name}, which exists already.`);
  const node = {
    n: name,
    version: 0,
    dead: false,
    right: null,
    high: null,
    keys: [],
    children: null,
    kind: null,
    prefix: null,
    slots: 0,
    latch: null,
    loose: '',
    retries: 0,
    gone: false,
    ...members
  };
  node.slots = tree.slots_of(node);
  tree.nodes.set(name, node);
  return node;
}

export function slot_of(e, node, limit) {
  if (!(e.at >= 0 && e.at <= limit))
    throw say(e, `is about slot ${e.at} of ${node.n}, which has ${node.keys.length} keys.`);
}

export function cut_of(e, node) {
  if (!(e.keep >= 0 && e.keep <= node.keys.length)) {
    throw say(e, `keeps ${e.keep} keys of ${node.n}, which has ${node.keys.length}.`);
  }
}

/// Takes a node out; who still holds it, e.g. an arrangement, sees that it is gone.
export function remove(tree, name) {
  tree.nodes.get(name).gone = true;
  tree.nodes.delete(name);
}

/// A post or a grow has named it.
export function known(tree, name) {
  const node = tree.nodes.get(name);
  if (node === undefined) return '';
  const was = node.loose;
  set_loose(tree, node, '');
  return was;
}

/// Counts, too: keys of a copy that nobody can reach are not keys of the tree yet.
export function set_loose(tree, node, loose) {
  if ((node.loose === 'linked') !== (loose === 'linked')) tree.unposted += loose === 'linked' ? 1 : -1;
  if ((node.loose === 'copy') !== (loose === 'copy')) {
    if (node.level === 0) tree.keys += loose === 'copy' ? -node.keys.length : node.keys.length;
    if (loose === 'copy')
      tree.copies.add(node);
    else
      tree.copies.delete(node);
  }
  node.loose = loose;
  tree.touched.push(node);
}

/// A child and its key into a slot of an inner node, and out of it.
export function put_slot(tree, e, node) {
  slot_of(e, node, node.keys.length);
  if (!node.children) throw say(e, `posts a child to ${node.n}, which is a leaf.`);
  node.keys.splice(e.at, 0, e.key);
  node.children.splice(e.at, 0, e.child);
  ++tree.structure;
}
export function cut_slot(tree, e, node) {
  node.keys.splice(e.at, 1);
  node.children.splice(e.at, 1);
  ++tree.structure;
}
