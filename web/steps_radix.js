// steps_radix.js - what events of radix trees do, and how they are undone; the rest is in steps.js.
//
// The prefix of a node is what its keys share between the byte at which its parent branches and its own: two
// hexadecimal digits for each level between the two. So it follows from the levels when nodes come between or go.
import {cut_slot, known, make, node_of, put_slot, remove, say, set_loose} from './change.js';

const digits_between = (above, below) => Math.max(0, 2 * (above.level - below.level - 1));
const hexadecimal = (key, digits) => BigInt(key).toString(16).padStart(digits, '0');

function child_of(tree, e, node) {
  if (node.children?.[e.at] !== (e.e === 'join' ? e.gone : e.child))
    throw say(e, `names a child that is not in slot ${e.at} of ${node.n}.`);
  return node_of(tree, e, e.child);
}

export const apply_radix = {
  leaf(tree, e) {
    tree.copies.add(make(
        tree, e, e.n,
        {level: 0, keys: [e.key], kind: 'leaf', prefix: hexadecimal(e.key, 16), from: null, loose: 'copy'}));
  },
  post(tree, e, node) {
    const child = node_of(tree, e, e.child);
    const kept = {loose: '', prefix: child.prefix};
    put_slot(tree, e, node);
    child.prefix = child.prefix.slice(child.prefix.length - digits_between(node, child));
    kept.loose = known(tree, e.child);
    return kept;
  },
  branch(tree, e) {
    const node = node_of(tree, e);
    const child = child_of(tree, e, node);
    const digits = digits_between(node, e);
    const kept = child.prefix;
    make(tree, e, e.new, {
      level: e.level,
      kind: 'node4',
      keys: [String(parseInt(kept.slice(digits, digits + 2), 16) || 0)],
      children: [e.child],
      prefix: kept.slice(0, digits)
    });
    child.prefix = kept.slice(digits + 2);
    node.children[e.at] = e.new;
    ++tree.structure;
    return kept;
  },
  drop(tree, e) {
    const node = node_of(tree, e);
    const leaf = child_of(tree, e, node);
    cut_slot(tree, e, node);
    remove(tree, e.child);
    tree.keys -= leaf.keys.length;
    return leaf;
  },
  join(tree, e) {
    const node = node_of(tree, e);
    const child = child_of(tree, e, node);
    const gone = node_of(tree, e, e.gone);
    const kept = {gone, prefix: child.prefix};
    if (gone.latch !== null) --tree.latched;
    child.prefix = gone.prefix + hexadecimal(gone.keys[0] ?? '0', 2) + child.prefix;
    node.children[e.at] = e.child;
    remove(tree, e.gone);
    ++tree.structure;
    return kept;
  },
};

export const revert_radix = {
  leaf(tree, e) {
    tree.copies.delete(tree.nodes.get(e.n));
    remove(tree, e.n);
  },
  post(tree, e, {loose, prefix}) {
    const child = tree.nodes.get(e.child);
    cut_slot(tree, e, tree.nodes.get(e.n));
    child.prefix = prefix;
    set_loose(tree, child, loose);
  },
  branch(tree, e, prefix) {
    tree.nodes.get(e.n).children[e.at] = e.child;
    tree.nodes.get(e.child).prefix = prefix;
    remove(tree, e.new);
    ++tree.structure;
  },
  drop(tree, e, leaf) {
    leaf.gone = false;
    tree.nodes.set(e.child, leaf);
    tree.keys += leaf.keys.length;
    put_slot(tree, e, tree.nodes.get(e.n));
  },
  join(tree, e, {gone, prefix}) {
    gone.gone = false;
    tree.nodes.set(e.gone, gone);
    if (gone.latch !== null) ++tree.latched;
    tree.nodes.get(e.n).children[e.at] = e.gone;
    tree.nodes.get(e.child).prefix = prefix;
    ++tree.structure;
  },
};
