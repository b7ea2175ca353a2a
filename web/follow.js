// follow.js - the way of a search through the tree as it stands, by the rules of the library.
//
// Routing: child i of an inner node covers the keys from keys[i] on; a key above `high` lies to the right. A dead leaf leads to
// the leaf that took its keys in.
import { compare, count_not_greater } from "./keys.js";

const longest = 200; // right links of a stale lane, and a way out of bad traces that run in circles

/// The first leaf of the lane that reaches as far as the key; without a lane the root.
function start(tree, key) {
  let low = 0;
  let high = tree.lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const entry = tree.lane[middle];
    if (entry.high !== null && compare(entry.high, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low < tree.lane.length ? { n: tree.lane[low].leaf, by: "lane" } : { n: tree.root, by: "root" };
}

function next_of(node, key) {
  if (node.dead) return { n: node.right, by: "link" };
  if (node.high !== null && compare(node.high, key) < 0) return { n: node.right, by: "link" };
  if (!node.children || node.children.length === 0) return null;
  const i = Math.max(0, count_not_greater(node.keys, key) - 1);
  return { n: node.children[i], by: "child" };
}

/// Bytes of a key in the order in which a radix tree compares them.
const bytes_of = (key) => BigInt(key).toString(16).padStart(16, "0");

function follow_radix(tree, key) {
  const digits = bytes_of(key);
  const path = [];
  let at = 0;
  for (let step = { n: tree.root, by: "root" }; step && path.length < longest;) {
    const node = tree.nodes.get(step.n);
    if (node === undefined) break;
    path.push(step);
    if (!node.children) return { found: node.keys[0] === key, path };
    const prefix = node.prefix ?? "";
    if (!digits.startsWith(prefix, at)) break;
    at += prefix.length;
    const i = node.keys.indexOf(String(parseInt(digits.slice(at, at + 2), 16)));
    at += 2;
    step = i < 0 ? null : { n: node.children[i], by: "child" };
  }
  return { found: false, path };
}

/// {found, path: [{n, by}]}
export function follow(tree, key, index) {
  if (index === "radix") return follow_radix(tree, key);
  const path = [];
  for (let step = start(tree, key); step && step.n !== null && path.length < longest;) {
    const node = tree.nodes.get(step.n);
    if (node === undefined) break;
    path.push(step);
    const next = next_of(node, key);
    if (next === null) {
      const i = count_not_greater(node.keys, key) - 1;
      return { found: i >= 0 && node.keys[i] === key, path };
    }
    step = next;
  }
  return { found: false, path };
}
