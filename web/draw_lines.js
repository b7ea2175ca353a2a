// draw_lines.js - lines between nodes: to children, to right neighbours, ways of teams and of the search. Text of SVG.
import {placed} from './arrange.js';
import {dashes_of, team_mark} from './marks.js';

const f = (x) => Math.round(x * 10) / 10;
const most_edges = 1200;
const most_teams = 12;

/// Where a line to a node ends, or null where the node cannot be seen.
function anchor(name, g, scene) {
  const node = scene.tree.nodes.get(name);
  if (!placed(g.arrangement, node)) return null;
  const row = g.arrangement.rows[node.row];
  const drawn = scene.boxes.get(name);
  if (drawn) return {x: drawn.middle, y: drawn.y, h: drawn.h, row: node.row, w: drawn.w};
  const x = g.x((row.x0[node.i] + row.x1[node.i]) / 2);
  return {x: Math.min(Math.max(x, g.gutter - 6), g.width + 6), y: g.y(node.row), h: g.card, row: node.row, w: 3};
}

function slot_x(node, b, i, g) {
  if (g.detail(b.w, node.slots) !== 'cells') return b.middle;
  return b.x + (i + 0.5) * (b.w / node.slots);
}

function curve(x0, y0, x1, y1) {
  const bend = (y1 - y0) * 0.45;
  return `M${f(x0)} ${f(y0)}C${f(x0)} ${f(y0 + bend)} ${f(x1)} ${f(y1 - bend)} ${f(x1)} ${f(y1)}`;
}

/// From each slot of a node to its child; where children are too narrow, one funnel over all of them.
export function draw_edges(g, scene) {
  let edges = '';
  let funnels = '';
  let n = 0;
  g.arrangement.rows.forEach((row, r) => {
    if (g.is_heat(row)) return;
    const [from, to] = g.visible(row);
    for (let i = from; i < to; ++i) {
      const node = row.nodes[i];
      const b = scene.boxes.get(node.n);
      if (!(node.children || (node.cell && r + 1 < g.arrangement.rows.length)) || !b || node.loose === 'copy') continue;
      const bottom = b.y + b.h;
      if (node.cell || b.span / Math.max(1, node.children.length) < 7 || n > most_edges) {
        const x0 = Math.max(g.gutter, g.x(row.x0[i]));
        const x1 = Math.min(g.width, g.x(row.x1[i]));
        funnels += `M${f(b.x)} ${f(bottom)}H${f(b.x + b.w)}L${f(x1)} ${f(g.y(r + 1) - 2)}H${f(x0)}z`;
        continue;
      }
      node.children.forEach((name, c) => {
        const end = anchor(name, g, scene);
        if (end === null || end.row <= r) return;
        ++n;
        edges += curve(slot_x(node, b, c, g), bottom, end.x, end.y);
      });
    }
  });
  return `${funnels ? `<path class="funnel" d="${funnels}"/>` : ''}${edges ? `<path class="edge" d="${edges}"/>` : ''}`;
}

export function draw_right_links(g, scene) {
  let plain = '';
  let loose = '';
  g.arrangement.rows.forEach((row) => {
    if (g.is_heat(row)) return;
    const [from, to] = g.visible(row);
    for (let i = from; i + 1 < to; ++i) {
      const node = row.nodes[i];
      const next = node.right === null ? undefined : scene.tree.nodes.get(node.right);
      const a = scene.boxes.get(node.n);
      const b = next && scene.boxes.get(next.n);
      if (!a || !b || node.loose === 'copy' || b.x - a.x - a.w < 5) continue;
      const y = f(a.y + a.h / 2);
      const d = `M${f(a.x + a.w + 1)} ${y}H${f(b.x - 1)}`;
      if (next.loose === 'linked')
        loose += `<path class="right loose" d="${d}" marker-end="url(#arrow-loose)"/>`;
      else
        plain += `<path class="right" d="${d}" marker-end="url(#arrow)"/>`;
    }
  });
  return plain + loose;
}

/// One step of a way: along the edge to a child, along the link to a neighbour, or straight.
function segment(from, to, g, scene, shift) {
  const a = anchor(from, g, scene);
  const b = anchor(to, g, scene);
  if (a === null || b === null || from === to) return '';
  const node = scene.tree.nodes.get(from);
  const drawn = scene.boxes.get(from);
  if (b.row > a.row) {
    const slot = node.children?.indexOf(to) ?? -1;
    const x = drawn && slot >= 0 ? slot_x(node, drawn, slot, g) : a.x;
    return curve(x + shift, a.y + a.h, b.x + shift, b.y);
  }
  const y = shift + (a.y + a.h / 2);
  if (b.row === a.row) {
    const on = b.x > a.x ? 1 : -1;
    return `M${f(a.x + (on * a.w) / 2)} ${f(y)}H${f(b.x - (on * b.w) / 2)}`;
  }
  // Back up, to the root or to a parent: beside the edges.
  return `M${f(a.x + a.w / 2)} ${f(a.y + a.h / 2)}Q${f(a.x + a.w / 2 + 26)} ${f((a.y + b.y) / 2)} ${f(b.x + b.w / 2)} ${
      f(b.y + b.h / 2)}`;
}

function way(names, g, scene, shift = 0) {
  let d = '';
  for (let i = 1; i < names.length; ++i) d += segment(names[i - 1], names[i], g, scene, shift);
  return d;
}

export function draw_search(g, scene) {
  const d = way(scene.way.map((step) => step.n), g, scene);
  return d === '' ? '' : `<path class="sought" d="${d}"/>`;
}

/// Teams with an operation under way; that of the event last, above the others.
export function teams_to_draw(scene) {
  const busy =
      [...scene.tree.workers.values()].filter((who) => who.w !== scene.team && who.op !== null && who.path.length > 0);
  const current = scene.tree.workers.get(scene.team);
  const shown = busy.slice(0, most_teams - 1);
  if (current && current.path.length > 0) shown.push(current);
  return {shown, hidden: busy.length - Math.min(busy.length, most_teams - 1)};
}

/// Its way since it was at the root the last time: who starts again, or comes down a second time, leaves the way
/// before.
const last_descent = ({path, by}) => path.slice(Math.max(0, by.lastIndexOf('root')));

export function draw_team_lines(g, scene) {
  return teams_to_draw(scene)
      .shown
      .map((who) => {
        const d = way(last_descent(who), g, scene, who.w === scene.team ? 0 : ((who.w % 5) - 2) * 2.5);
        return d === '' ? '' :
                          `<path class="team${who.w === scene.team ? ' current' : ''}" stroke-dasharray="${
                              dashes_of(who.w)}" d="${d}"/>`;
      })
      .join('');
}

/// Capsules at the nodes where teams are, side by side.
export function draw_team_marks(g, scene) {
  const at = new Map();
  for (const who of teams_to_draw(scene).shown) {
    const name = who.path.at(-1);
    if (!at.has(name)) at.set(name, []);
    at.get(name).push(who.w);
  }
  let out = '';
  for (const [name, ws] of at) {
    const end = anchor(name, g, scene);
    if (end === null) continue;
    // Inside a chip, whose name stands below it.
    const y = end.w < 74 ? end.y + end.h - 10 : end.y + end.h;
    ws.forEach((w, i) => {
      out += team_mark(f(end.x + (i - (ws.length - 1) / 2) * 20), f(y), w, w === scene.team);
    });
  }
  return out;
}
