// arrange.js - where nodes stand: rows by level, leaves side by side as units, everything else above what it leads to.
//
// Trees with right links are ordered along these, because between a split and its posting they alone tell where a node
// belongs. Other trees are ordered by a walk from the root. Each node gets `row` and `i`, its place; marks on the nodes
// instead of sets and maps of names keep this at some milliseconds for 100,000 nodes.

let stamp = 0;

/// The nodes of each level in key order, along chains of right links. A copy that nobody can reach yet stands behind the node it
/// came from.
function chains(tree) {
  const mark = ++stamp;
  const levels = new Map();
  const copies = new Map();
  for (const node of tree.nodes.values()) {
    if (node.dead) continue;
    if (node.loose === "copy") {
      copies.set(node.from, node);
      continue;
    }
    const right = node.right === null ? undefined : tree.nodes.get(node.right);
    if (right !== undefined) right.pointed = mark;
    let level = levels.get(node.level);
    if (level === undefined) levels.set(node.level, (level = []));
    level.push(node);
  }
  const rows = [];
  for (const level of [...levels.keys()].sort((a, b) => b - a)) {
    const nodes = [];
    for (const head of levels.get(level)) {
      if (head.pointed === mark) continue;
      let node = head;
      while (node !== undefined && node.seen !== mark && !node.dead) {
        node.seen = mark;
        nodes.push(node);
        if (copies.size > 0 && copies.has(node.n)) nodes.push(copies.get(node.n));
        node = node.right === null ? undefined : tree.nodes.get(node.right);
      }
    }
    rows.push({ level, nodes, x0: new Float64Array(nodes.length), x1: new Float64Array(nodes.length) });
  }
  return rows;
}

function number_leaves(row) {
  for (let i = 0; i < row.nodes.length; ++i) {
    row.x0[i] = i;
    row.x1[i] = i + 1;
  }
}

/// A node begins where the first of its children begins that is to be seen, and ends where the next one begins.
function span_children(tree, row, below, width) {
  const n = row.nodes.length;
  let begin = 0;
  for (let i = 0; i < n; ++i) {
    const { children, loose } = row.nodes[i];
    for (const name of loose === "copy" ? [] : (children ?? [])) {
      const child = tree.nodes.get(name);
      if (child === undefined || below.nodes[child.i] !== child) continue;
      begin = Math.max(begin, below.x0[child.i]);
      break;
    }
    row.x0[i] = i === 0 ? 0 : begin;
  }
  for (let i = 0; i < n; ++i) row.x1[i] = i + 1 < n ? Math.max(row.x0[i + 1], row.x0[i]) : width;
}

function number_rows(rows) {
  for (let r = 0; r < rows.length; ++r) {
    const { nodes } = rows[r];
    for (let i = 0; i < nodes.length; ++i) {
      nodes[i].row = r;
      nodes[i].i = i;
    }
  }
}

function arrange_chains(tree) {
  const rows = chains(tree);
  number_rows(rows);
  if (rows.length === 0) return { rows, width: 1 };
  number_leaves(rows.at(-1));
  const width = Math.max(1, rows.at(-1).nodes.length);
  for (let r = rows.length - 2; r >= 0; --r) span_children(tree, rows[r], rows[r + 1], width);
  return { rows, width };
}

function arrange_walk(tree) {
  const mark = ++stamp;
  const rows = [];
  let width = 0;
  const visit = (name, depth) => {
    const node = tree.nodes.get(name);
    if (node === undefined || node.seen === mark) return;
    node.seen = mark;
    const row = (rows[depth] ??= { level: 0, nodes: [], x0: [], x1: [] });
    const i = row.nodes.push(node) - 1;
    row.x0[i] = width;
    const before = width;
    for (const child of node.children ?? []) visit(child, depth + 1);
    if (width === before) ++width;
    row.x1[i] = width;
  };
  visit(tree.root, 0);
  rows.forEach((row, depth) => (row.level = rows.length - 1 - depth));
  number_rows(rows);
  return { rows, width: Math.max(1, width) };
}

/// {rows, width}: a row has nodes with x0[i], x1[i] in units of a leaf; rows from the root down.
export function arrange(tree) {
  const { rows, width } = tree.linked ? arrange_chains(tree) : arrange_walk(tree);
  return { rows, width, structure: tree.structure };
}

/// Is this node in the arrangement, and not merged away or gone?
export function placed(arrangement, node) {
  return node !== undefined && arrangement.rows[node.row]?.nodes[node.i] === node;
}
