// moves.js - from the chosen node to its neighbours, its parent and its children.
import {placed} from './arrange.js';

function current(page) {
  const arrangement = page.pane.arranged();
  const node = page.pane.tree.nodes.get(page.pane.chosen);
  if (placed(arrangement, node)) return {arrangement, node};
  const first = arrangement.rows[0]?.nodes[0];
  if (first) page.choose(first.n);
  return null;
}

function choose(page, node) {
  page.choose(node.n);
  page.pane.keep_in_sight(node.n);
}

export function move_to_neighbour(page, by) {
  const at = current(page);
  const next = at?.arrangement.rows[at.node.row].nodes[at.node.i + by];
  if (next) choose(page, next);
}

/// -1: the node above it, 1: the first one below it.
export function move_to_relative(page, by) {
  const at = current(page);
  const row = at?.arrangement.rows[at.node.row + by];
  if (!row) return;
  const own = at.arrangement.rows[at.node.row];
  const wanted = own.x0[at.node.i];
  // Who begins last at or before it is above it; who begins first at or behind it is below it.
  let i = 0;
  while (i + 1 < row.nodes.length && (by < 0 ? row.x0[i + 1] <= wanted : row.x0[i] < wanted)) ++i;
  choose(page, row.nodes[i]);
}
