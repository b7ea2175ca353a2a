// arrange.js - where nodes stand: rows by level, leaves side by side as units, everything else above what it leads to.
//
// Trees with right links are ordered along these, because between a split and its posting they alone tell where a node
// belongs. Other trees are ordered by a walk from the root. Each node gets `row` and `i`, its place; a row also has, in
// arrays of numbers, what a heat map needs of its nodes. With 100,000 nodes it is reading each of them that takes time,
// so an arrangement is made from the one before wherever only some links changed.

let stamp = 0;

/// Bits of row.flags.
export const flag = {
  latched: 1,
  loose: 2
};
const flags_of = (node) => (node.latch !== null ? flag.latched : 0) | (node.loose !== '' ? flag.loose : 0);

function fill_row(row, before) {
  const n = row.nodes.length;
  row.x0 = new Float64Array(n);
  row.x1 = new Float64Array(n);
  row.used = new Uint16Array(n);
  row.slots = new Uint16Array(n);
  row.flags = new Uint8Array(n);
  for (let i = 0, old = 0; i < n; ++i) {
    const node = row.nodes[i];
    if (before !== undefined && before.nodes[old] !== node && before.nodes[node.i] === node) old = node.i;
    if (before !== undefined && before.nodes[old] === node) {
      row.used[i] = before.used[old];
      row.slots[i] = before.slots[old];
      row.flags[i] = before.flags[old++];
    } else {
      row.used[i] = node.keys.length;
      row.slots[i] = node.slots;
      row.flags[i] = flags_of(node);
    }
  }
}

function number_row(row, r) {
  for (let i = 0; i < row.nodes.length; ++i) {
    row.nodes[i].row = r;
    row.nodes[i].i = i;
  }
}

/// Nodes that begin a level: no right link leads to them. By level, from the root down.
function heads(tree) {
  const mark = ++stamp;
  const levels = new Map();
  for (const node of tree.nodes.values()) {
    if (node.dead || node.loose === 'copy') continue;
    const right = node.right === null ? undefined : tree.nodes.get(node.right);
    if (right !== undefined) right.pointed = mark;
    let level = levels.get(node.level);
    if (level === undefined) levels.set(node.level, (level = []));
    level.push(node);
  }
  return [...levels.keys()]
      .sort((a, b) => b - a)
      .map((level) => ({level, heads: levels.get(level).filter((node) => node.pointed !== mark)}));
}

/// The nodes of a level along its right links. A copy that nobody can reach yet stands behind the node it came from.
/// `before` is the row as it was: as long as it is right about who follows whom, no name is looked up.
function chain(tree, first, before) {
  const mark = ++stamp;
  const nodes = [];
  const copies = new Map();
  for (const copy of tree.copies) copies.set(copy.from, copy);
  for (const head of first) {
    let node = head;
    let old = before === undefined ? -1 : head.i;
    while (node !== undefined && node.seen !== mark && !node.dead) {
      node.seen = mark;
      nodes.push(node);
      if (copies.size > 0 && copies.has(node.n)) nodes.push(copies.get(node.n));
      if (node.right === null) break;
      const guess = before?.nodes[++old];
      if (guess !== undefined && guess.n === node.right && !guess.gone) {
        node = guess;
      } else {
        node = tree.nodes.get(node.right);
        if (before !== undefined && node !== undefined && before.nodes[node.i] === node)
          old = node.i;
        else
          --old;
      }
    }
  }
  return nodes;
}

/// A node begins where the first of its children begins that is to be seen, and ends where the next one begins.
function span_children(tree, row, below, width) {
  const n = row.nodes.length;
  let begin = 0;
  for (let i = 0; i < n; ++i) {
    // A copy stands above the children that it is about to take along, and its original above the others.
    for (const name of row.nodes[i].children ?? []) {
      const child = tree.nodes.get(name);
      if (child === undefined || below.nodes[child.i] !== child) continue;
      begin = Math.max(begin, below.x0[child.i]);
      break;
    }
    row.x0[i] = i === 0 ? 0 : begin;
  }
  for (let i = 0; i < n; ++i) row.x1[i] = i + 1 < n ? Math.max(row.x0[i + 1], row.x0[i]) : width;
}

function arrange_chains(tree, before) {
  const again = before?.generation === tree.generation;
  const levels = again ? before.rows.map((row) => ({level: row.level, heads: row.heads})) : heads(tree);
  const rows = levels.map(({level, heads: first}, r) => {
    const row = {level, heads: first, nodes: chain(tree, first, again ? before.rows[r] : undefined)};
    fill_row(row, again ? before.rows[r] : undefined);
    number_row(row, r);
    return row;
  });
  if (rows.length === 0) return {rows, width: 1};
  const leaves = rows.at(-1);
  const width = Math.max(1, leaves.nodes.length);
  for (let i = 0; i < leaves.nodes.length; ++i) {
    leaves.x0[i] = i;
    leaves.x1[i] = i + 1;
  }
  for (let r = rows.length - 2; r >= 0; --r) span_children(tree, rows[r], rows[r + 1], width);
  return {rows, width};
}

function arrange_walk(tree) {
  const mark = ++stamp;
  const rows = [];
  const spans = [];
  let width = 0;
  const visit = (name, depth) => {
    const node = tree.nodes.get(name);
    if (node === undefined || node.seen === mark) return;
    node.seen = mark;
    const row = (rows[depth] ??= {level: 0, nodes: []});
    const span = (spans[depth] ??= []);
    const i = row.nodes.push(node) - 1;
    const begin = width;
    for (const child of node.children ?? []) visit(child, depth + 1);
    if (width === begin) ++width;
    span[i] = [begin, width];
  };
  visit(tree.root, 0);
  rows.forEach((row, depth) => {
    row.level = rows.length - 1 - depth;
    fill_row(row);
    number_row(row, depth);
    spans[depth].forEach(([x0, x1], i) => {
      row.x0[i] = x0;
      row.x1[i] = x1;
    });
  });
  return {rows, width: Math.max(1, width)};
}

/// {rows, width}: a row has nodes with x0[i], x1[i] in units of a leaf; rows from the root down. `before`: the
/// arrangement that was, or null; what has changed since is brought up to date.
export function arrange(tree, before) {
  let made = before;
  if (before === null || before.structure !== tree.structure) {
    made = tree.linked ? arrange_chains(tree, before) : arrange_walk(tree);
    made.structure = tree.structure;
    made.generation = tree.generation;
  }
  for (const node of tree.touched) {
    if (!placed(made, node)) continue;
    made.rows[node.row].used[node.i] = node.keys.length;
    made.rows[node.row].flags[node.i] = flags_of(node);
  }
  tree.touched.length = 0;
  return made;
}

/// Is this node in the arrangement, and not merged away or gone?
export function placed(arrangement, node) {
  return node !== undefined && arrangement.rows[node.row]?.nodes[node.i] === node;
}
