// picture.js - the whole picture of one tree at one moment, as text of SVG: what is on the page and what is saved.
import {draw_edges, draw_right_links, draw_search, draw_team_lines, draw_team_marks} from './draw_lines.js';
import {draw_row} from './draw_nodes.js';
import {geometry} from './geometry.js';
import {grouped} from './keys.js';
import {escape} from './marks.js';

const f = (x) => Math.round(x * 10) / 10;

function row_title(tree, row, r, rows) {
  // Leaves of a radix tree stand at several depths; from afar they are summed up by level.
  if (tree.header.index === 'radix' && r > 0 && row.all === undefined) return `Depth ${r}`;
  if (r === rows.length - 1 && rows.length > 1) return 'Leaves';
  if (r === 0 && row.nodes.length === 1) return rows.length === 1 ? 'Root leaf' : 'Root';
  return `Level ${row.level}`;
}

function draw_row_names(g, scene) {
  const {rows} = g.arrangement;
  return rows
      .map((row, r) => {
        const y = g.y(r) + g.card / 2;
        const [from, to] = g.visible(row);
        const all = grouped(row.all ?? row.nodes.length);
        const seen = to - from < row.nodes.length && g.gutter >= 80 && row.all === undefined ?
            `${grouped(to - from)} of ${all}` :
            all;
        const note = seen === all && g.gutter >= 80 && row.nodes.length < 10000 ?
            `${all} node${row.nodes.length === 1 ? '' : 's'}` :
            seen;
        return `<path class="row-rule" d="M10 ${f(g.y(r) + g.card + 2)}H${
            f(g.gutter -
              12)}"/><text class="row-name" x="10" y="${f(y - 1)}">${row_title(scene.tree, row, r, rows)}</text>
<text class="row-note" x="10" y="${f(y + 13)}">${escape(note)}</text>`;
      })
      .join('');
}

/// Below a part of a tree: where in the whole it is.
function draw_overview(g) {
  if (g.to - g.from >= g.arrangement.width) return '';
  const y = g.height - 16;
  const left = g.gutter + (g.from / g.arrangement.width) * g.inner;
  const width = Math.max(4, ((g.to - g.from) / g.arrangement.width) * g.inner);
  return `<g><path class="row-rule" d="M${g.gutter} ${y}H${g.gutter + g.inner}"/><rect class="overview-wash" x="${
      f(left)}" y="${y - 5}" width="${f(width)}" height="10"/>
<rect class="overview" x="${f(left)}" y="${y - 5}" width="${f(width)}" height="10"/><text class="row-note" x="10" y="${
      y + 4}">Shown</text></g>`;
}

/// {text, geometry, scene}. `look`: {width, height, view, chosen, way, sought}; way is the path of a search.
export function draw(replay, arrangement, look, digits) {
  const {tree} = replay;
  const e = replay.event();
  const scene = {
    tree,
    boxes: new Map(),
    retrying: replay.retrying(),
    chosen: look.chosen,
    way: look.way,
    sought: look.sought,
    now: e?.n ?? null,
    team: e?.w ?? null,
    fresh: e?.e === 'insert' ? {n: e.n, key: e.key} : null
  };
  const g = new geometry(
      {width: look.width, height: look.height, arrangement, view: look.view, slots: tree.header.slots, digits});
  // Rows first: they tell where the lines, which lie below them, go.
  const nodes = arrangement.rows.map((row, r) => draw_row(row, r, g, scene)).join('');
  const text = `<defs><clipPath id="field-${look.id}"><rect x="${g.gutter - 8}" y="0" width="${
      g.width - g.gutter + 8}" height="${g.height}"/></clipPath></defs>
${draw_row_names(g, scene)}<g clip-path="url(#field-${look.id})">${draw_edges(g, scene)}${draw_search(g, scene)}${
      draw_right_links(
          g, scene)}${draw_team_lines(g, scene)}${nodes}${draw_team_marks(g, scene)}</g>${draw_overview(g)}`;
  return {text, geometry: g, scene};
}
