// follow.js - the way of a search through the tree as it stands, by the rules of the library.
//
// Routing: child i of an inner node covers the keys from keys[i] on; a key above `high` lies to the right. A dead leaf
// leads to the leaf that took its keys in.
import {compare, count_not_greater} from './keys.js';

const longest = 200;  // right links of a stale lane, and a way out of bad traces that run in circles

/// The first leaf of the lane that reaches as far as the key; without a lane the root.
function start(tree, key) {
  let low = 0;
  let high = tree.lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const entry = tree.lane[middle];
    if (entry.high !== null && compare(entry.high, key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low < tree.lane.length ? {n: tree.lane[low].leaf, by: 'lane'} : {n: tree.root, by: 'root'};
}

function next_of(node, key) {
  if (node.dead) return {n: node.right, by: 'link'};
  if (node.high !== null && compare(node.high, key) < 0) return {n: node.right, by: 'link'};
  if (!node.children || node.children.length === 0) return null;
  const i = Math.max(0, count_not_greater(node.keys, key) - 1);
  return {n: node.children[i], by: 'child'};
}

/// A radix tree compares bytes, the most significant first: a node of level 8 - b branches at byte b, the root at none.
/// What lies between is compared with the whole key at the leaf.
function next_of_radix(node, key) {
  if (!node.children) return null;
  if (node.kind === 'root') return node.children.length > 0 ? {n: node.children[0], by: 'child'} : undefined;
  const byte = (BigInt(key) >> BigInt(8 * (node.level - 1))) & 0xffn;
  const i = node.keys.indexOf(String(byte));
  return i < 0 ? undefined : {n: node.children[i], by: 'child'};
}

/// {found, path: [{n, by}]}
export function follow(tree, key, index) {
  const next_step = index === 'radix' ? next_of_radix : next_of;
  const path = [];
  for (let step = start(tree, key); step && step.n !== null && path.length < longest;) {
    const node = tree.nodes.get(step.n);
    if (node === undefined) break;
    path.push(step);
    const next = next_step(node, key);
    if (next === null) {
      const i = count_not_greater(node.keys, key) - 1;
      return {found: i >= 0 && node.keys[i] === key, path};
    }
    step = next;
  }
  return {found: false, path};
}
