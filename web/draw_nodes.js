// draw_nodes.js - nodes, from cells with keys down to columns of a heat map. Returns text of SVG.
import {flag} from './arrange.js';
import {escape, latch_mark, loose_mark, retry_mark, small_marks} from './marks.js';

const f = (x) => Math.round(x * 10) / 10;
/// A cell of a tree seen from afar (far.js) stands for several nodes.
const fill_of = (node) => node.cell ? node.cell.fill : node.slots > 0 ? Math.min(1, node.keys.length / node.slots) : 0;
const percent = (node) => `${Math.round(100 * fill_of(node))} %`;
const shade = (fill) => `f${Math.max(0, Math.min(8, Math.round(fill * 8)))}`;

function states(node, scene) {
  const names = ['node'];
  if (node.latch !== null) names.push('latched');
  if (node.loose === 'linked') names.push('loose');
  if (node.loose === 'copy') names.push('copy');
  if (scene.retrying.has(node.n)) names.push('retrying');
  if (scene.chosen === node.n) names.push('chosen');
  if (scene.now === node.n) names.push('now');
  return names;
}

function title(node) {
  const said = node.cell ?
      [`${node.cell.nodes} node${node.cell.nodes === 1 ? '' : 's'} from ${node.n} on`, `${percent(node)} full`] :
      [node.n, `${node.keys.length} of ${node.slots} keys`];
  if (node.latch !== null) said.push('latched');
  if (node.loose === 'linked') said.push('split off, parent does not know it');
  if (node.loose === 'copy') said.push('copy, not linked yet');
  return `<title>${escape(said.join(', '))}</title>`;
}

function key_cells(node, b, scene) {
  const w = b.w / node.slots;
  const y = b.y + 15;
  const h = b.h - 21;
  let out = '';
  if (node.keys.length < node.slots) {
    out += `<rect class="spare" x="${f(b.x + node.keys.length * w)}" y="${y}" width="${
        f((node.slots - node.keys.length) * w - 1.5)}" height="${f(h)}"/>`;
  }
  for (let i = 1; i < node.slots; ++i) out += `<path class="cell" d="M${f(b.x + i * w)} ${y}v${f(h)}"/>`;
  node.keys.forEach((key, i) => {
    const x = b.x + i * w;
    if (scene.fresh?.n === node.n && scene.fresh.key === key)
      out += `<rect class="fresh" x="${f(x + 1)}" y="${y + 1}" width="${f(w - 2)}" height="${f(h - 2)}"/>`;
    if (scene.sought === key)
      out += `<rect class="sought-key" x="${f(x + 1)}" y="${y + 1}" width="${f(w - 2)}" height="${f(h - 2)}"/>`;
    out += `<text class="key" x="${f(x + w / 2)}" y="${f(y + h / 2 + 4)}">${escape(key)}</text>`;
  });
  return out;
}

function gauge(node, b, height = 4) {
  const fill = fill_of(node);
  const y = f(b.y + b.h - height - 1);
  return `<rect class="gauge" x="${f(b.x + 1)}" y="${y}" width="${f(b.w - 2)}" height="${height}"/>
<rect class="fill ${shade(fill)}" x="${f(b.x + 1)}" y="${y}" width="${f((b.w - 2) * fill)}" height="${height}"/>`;
}

function shorten(text, room) { return text.length <= room ? text : room < 3 ? '' : `${text.slice(0, room - 1)}…`; }

/// Keys in as many lines as fit (one or two), or null.
function lines_of(keys, room) {
  const lines = [''];
  for (const key of keys) {
    if (lines.at(-1).length + key.length + 1 > room && lines.at(-1) !== '') lines.push('');
    if (lines.length > 2 || key.length > room) return null;
    lines.push(`${lines.pop()} ${key}`.trim());
  }
  return lines;
}

function card_text(node, b) {
  if (node.kind === 'root') return '';  // it leads to the first node, whatever the key
  const room = Math.floor((b.w - 8) / 6.65);
  const {keys} = node;
  const lines = (keys.length <= 32 && lines_of(keys, room)) ||
      [keys.length > 1 ? `${keys[0]} … ${keys.at(-1)}` : (keys[0] ?? '')];
  const middle = b.y + b.h / 2 + (lines.length > 1 ? 2 : 8);
  return lines
      .map(
          (line, i) => `<text class="key" x="${f(b.x + b.w / 2)}" y="${f(middle + i * 13)}">${
              escape(shorten(line, room))}</text>`)
      .join('');
}

function head(node, b) {
  const more = node.cell?.nodes > 1 ? ` and ${node.cell.nodes - 1} more` : '';
  const label = node.kind && node.kind !== 'leaf' ? `${node.n} ${node.kind}` : `${node.n}${more}`;
  const count = node.cell ? percent(node) : `${node.keys.length}/${node.slots}`;
  const room = b.w > 100 ?
      `<text class="name" x="${f(b.x + b.w - 5)}" y="${f(b.y + 11)}" text-anchor="end">${count}</text>` :
      '';
  return `<text class="name" x="${f(b.x + 5)}" y="${f(b.y + 11)}">${
      escape(shorten(label, Math.floor(b.w / 6)))}</text>${room}`;
}

/// A leaf of a radix tree is its one key.
function chip_label(node, w) {
  const wishes = node.kind === 'leaf' ? [node.keys[0] ?? '', node.n] : [node.n];
  return wishes.find((wish) => w >= 7 * wish.length + 4) ?? '';
}

function marks(node, b, scene) {
  let out = '';
  let x = b.x + b.w - 4;
  const y = f(b.y - 7);
  if (node.latch !== null) out += latch_mark(f(x), y);
  if (node.latch !== null) x -= 20;
  if (node.loose === 'linked') out += loose_mark(f(x), y);
  if (node.loose === 'linked') x -= 20;
  if (scene.retrying.has(node.n)) out += retry_mark(f(x), y);
  return out;
}

function rings(node, b, scene) {
  let out = '';
  const ring = (name, by) => `<rect class="${name}" x="${f(b.x - by)}" y="${f(b.y - by)}" width="${
      f(b.w + 2 * by)}" height="${f(b.h + 2 * by)}" rx="${4 + by}"/>`;
  if (scene.now === node.n) out += ring('ring-now', 3.5);
  if (scene.chosen === node.n) out += ring('ring', 6);
  return out;
}

/// One node that has a box of its own.
export function draw_node(node, b, detail, scene) {
  const copy = node.loose === 'copy' ? {...b, y: b.y + 10} : b;
  const box = `<rect class="box" x="${f(copy.x)}" y="${f(copy.y)}" width="${f(copy.w)}" height="${f(copy.h)}" rx="${
      copy.w > 13 ? 4 : 1}"/>`;
  let inside = '';
  if (detail === 'cells')
    inside = head(node, copy) + key_cells(node, copy, scene) + gauge(node, copy);
  else if (detail === 'card')
    inside = head(node, copy) + card_text(node, copy) + gauge(node, copy);
  else {
    const fill = fill_of(node);
    const h = (copy.h - 2) * fill;
    inside = `<rect class="fill ${shade(fill)}" x="${f(copy.x + 1)}" y="${f(copy.y + copy.h - 1 - h)}" width="${
        f(Math.max(0.5, copy.w - 2))}" height="${f(h)}"/>`;
    const label = chip_label(node, copy.w);
    if (label !== '')
      inside +=
          `<text class="name middle" x="${f(copy.middle)}" y="${f(copy.y + copy.h + 12)}">${escape(label)}</text>`;
  }
  const hatching = node.loose === 'linked' ?
      `<rect class="hatching" x="${f(copy.x)}" y="${f(copy.y)}" width="${f(copy.w)}" height="${f(copy.h)}" rx="4"/>` :
      '';
  const signs = copy.w >= 22 ? marks(node, copy, scene) : '';
  return `<g class="${states(node, scene).join(' ')}" data-n="${escape(node.n)}">${title(node)}${box}${inside}${
      hatching}${rings(node, copy, scene)}${signs}</g>`;
}

/// Signs of nodes too narrow for the large ones, one path per kind.
class small_signs {
  paths = {latch: '', loose: '', retry: ''};
  last = {latch: -9, loose: -9, retry: -9};
  add(kind, x, y) {
    if (x - this.last[kind] < 7) return;  // on top of the one before it
    this.last[kind] = x;
    this.paths[kind] += small_marks[kind](f(x), f(y));
  }
  text() {
    return Object.entries(this.paths).map(([kind, d]) => (d ? `<path class="small-${kind}" d="${d}"/>` : '')).join('');
  }
}

function sign(signs, node, x, y, scene) {
  if (node.latch !== null) signs.add('latch', x, y - 8);
  if (node.loose !== '') signs.add('loose', x, y - 17);
  if (scene.retrying.size > 0 && scene.retrying.has(node.n)) signs.add('retry', x, y - 26);
}

/// Nodes too narrow for text, and at rest: all outlines are one path, all gauges of a shade another, whatever their
/// number.
class plain_bars {
  outlines = '';
  shades = Array.from({length: 9}, () => '');
  add(b, fill) {
    const h = (b.h - 2) * fill;
    this.outlines += `M${f(b.x)} ${f(b.y)}h${f(b.w)}v${f(b.h)}h${f(-b.w)}z`;
    this.shades[Math.round(fill * 8)] +=
        `M${f(b.x + 1)} ${f(b.y + b.h - 1)}v${f(-h)}h${f(Math.max(0.5, b.w - 2))}v${f(h)}z`;
  }
  text() {
    if (this.outlines === '') return '';
    const fills = this.shades.map((d, s) => (d ? `<path class="fill f${s}" d="${d}"/>` : '')).join('');
    return `<g class="node"><path class="box" d="${this.outlines}"/>${fills}</g>`;
  }
}

export function draw_row(row, r, g, scene) {
  const [from, to] = g.visible(row);
  if (g.is_heat(row)) return draw_heat(row, r, g, scene, from, to);
  const signs = new small_signs();
  const bars = new plain_bars();
  let out = '';
  for (let i = from; i < to; ++i) {
    const node = row.nodes[i];
    const b = g.box(row, i, r);
    scene.boxes.set(node.n, b);
    const detail = g.detail(b.w, node.cell ? Infinity : node.slots);
    const at_rest =
        row.flags[i] === 0 && node.n !== scene.chosen && node.n !== scene.now && !scene.retrying.has(node.n);
    if (detail === 'bar' && at_rest)
      bars.add(b, fill_of(node));
    else
      out += draw_node(node, b, detail, scene);
    if (b.w < 22) sign(signs, node, b.middle, b.y, scene);
  }
  return bars.text() + out + signs.text();
}

/// Columns of three pixels; height and shade are the mean fill of the nodes in each.
function draw_heat(row, r, g, scene, from, to) {
  const y = g.y(r);
  const shades = Array.from({length: 9}, () => '');
  const end = g.x(row.x1[to - 1]);
  const left = Math.max(g.x(row.x0[from]), g.gutter);
  const {x0, used, slots} = row;
  for (let i = from; i < to;) {
    let sum = 0;
    let room = 0;
    const x = g.x(x0[i]);
    const stop = g.unit(Math.max(x, g.gutter) + 3);
    do {
      sum += used[i];
      room += slots[i];
      ++i;
    } while (i < to && x0[i] < stop);
    const fill = room > 0 ? Math.min(1, sum / room) : 0;
    const h = Math.max(1, g.card * fill);
    const right = i < to ? g.x(x0[i]) : end;
    shades[Math.round(fill * 8)] += `M${f(x)} ${f(y + g.card)}v${f(-h)}H${f(right - 0.5)}v${f(h)}z`;
  }
  let out = `<rect class="heat-ground" x="${f(left)}" y="${f(y)}" width="${f(end - left)}" height="${f(g.card)}"/>`;
  shades.forEach((d, s) => (out += d ? `<path class="fill f${s}" d="${d}"/>` : ''));
  return `<g class="heat" data-level="${row.level}">${out}${mark_in_heat(row, r, g, scene, from, to)}${
      signs_in_heat(row, g.y(r), g, scene, from, to)}</g>`;
}

function signs_in_heat(row, y, g, scene, from, to) {
  const signs = new small_signs();
  const middle = (i) => g.x((row.x0[i] + row.x1[i]) / 2);
  for (let i = from; i < to; ++i) {
    if (row.flags[i] === 0) continue;
    if (row.flags[i] & flag.latched) signs.add('latch', middle(i), y - 8);
    if (row.flags[i] & flag.loose) signs.add('loose', middle(i), y - 17);
  }
  for (const name of scene.retrying.keys()) {
    const node = scene.tree.nodes.get(name);
    if (node !== undefined && row.nodes[node.i] === node && node.i >= from && node.i < to)
      signs.add('retry', middle(node.i), y - 26);
  }
  return signs.text();
}

/// The chosen node and that of the event are found in a heat map, too.
function mark_in_heat(row, r, g, scene, from, to) {
  let out = '';
  for (const [name, type] of [[scene.now, 'ring-now now'], [scene.chosen, 'ring chosen']]) {
    const node = scene.tree.nodes.get(name);
    if (node === undefined || row.nodes[node.i] !== node || node.i < from || node.i >= to) continue;
    const x = g.x((row.x0[node.i] + row.x1[node.i]) / 2);
    const [ring, state] = type.split(' ');
    out += `<g class="node ${state}"><rect class="${ring}" x="${f(x - 3)}" y="${f(g.y(r) - 3)}" width="6" height="${
        f(g.card + 6)}"/></g>`;
  }
  return out;
}
