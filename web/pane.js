// pane.js - one tree on the page: its picture, what part of it is seen, and what the pointer does to it.
import {arrange, placed} from './arrange.js';
import {far_steps, far_view} from './far.js';
import {follow} from './follow.js';
import {grouped} from './keys.js';
import {draw} from './picture.js';
import {replay} from './replay.js';
import {describe} from './words.js';

const ns = 'http://www.w3.org/2000/svg';
let ids = 0;

function element(type, properties = {}, ...children) {
  const made = Object.assign(document.createElement(type), properties);
  made.append(...children);
  return made;
}

/// Digits of the longest key that is to be drawn: of a sample, for a large tree need not be read whole.
function digits_of(tree) {
  let most = 1;
  let looked = 0;
  for (const node of tree.nodes.values()) {
    if (node.keys.length > 0) most = Math.max(most, node.keys.at(-1).length);
    if (++looked > 2000) break;
  }
  return most;
}

export class pane {
  /// asked: {choose(pane, name), view_changed()}
  constructor(source, asked) {
    this.id = ++ids;
    this.asked = asked;
    this.view = null;
    this.chosen = null;
    this.key = null;  // what is searched for
    this.way = {found: false, path: []};
    this.svg = document.createElementNS(ns, 'svg');
    this.svg.setAttribute('class', 'tree');
    this.svg.setAttribute('role', 'img');
    this.svg.setAttribute('tabindex', '0');
    this.svg.setAttribute('preserveAspectRatio', 'xMinYMin');
    this.title = element('h2');
    this.facts = element('p', {className: 'facts-line'});
    this.root = element('section', {className: 'pane'}, element('header', {}, this.title, this.facts), this.svg);
    this.#listen();
    new ResizeObserver(() => this.asked.view_changed(this)).observe(this.svg);
    this.show(source);
  }

  show(source) {
    this.source = source;
    this.far = source.far ? new far_view(source, () => this.#came()) : null;
    this.replay = this.far ? new replay(source.trace, this.far.tree, far_steps) : new replay(source.trace);
    this.arrangement = null;
    this.view = null;
    this.chosen = null;
    this.digits = digits_of(this.replay.tree);
  }

  get tree() { return this.replay.tree; }
  get header() { return this.source.trace.header; }

  seek(position) {
    this.replay.seek(position);
    this.far?.seek(this.replay.at);
  }

  /// Something of a tree that is not here has come.
  #came() {
    this.arrangement = null;
    this.digits = Math.max(this.digits, digits_of(this.tree));
    if (this.far.trouble) this.asked.trouble(this.far.trouble);
    this.asked.view_changed(this);
  }

  /// To be called before anything asks where nodes are.
  arranged() {
    if (this.far?.arrangement) {
      this.tree.touched.length = 0;
      return this.far.arrangement;
    }
    this.arrangement = arrange(this.tree, this.arrangement);
    return this.arrangement;
  }

  /// Of a tree that is not here: a promise of it.
  search(key) {
    this.key = key;
    if (this.far && key !== null) return this.far.search(key).then((way) => (this.way = way));
    this.way = key === null ? {found: false, path: []} : follow(this.tree, key, this.header.index);
    return this.way;
  }

  render() {
    const arrangement = this.arranged();
    if (this.key !== null && !this.far) this.way = follow(this.tree, this.key, this.header.index);
    if (this.replay.at === this.replay.length || this.replay.at % 64 === 0)
      this.digits = Math.max(this.digits, digits_of(this.tree));
    const {width, height} = this.svg.getBoundingClientRect();
    if (width < 20 || height < 20) return;
    const drawn = this.draw(width, height);
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.svg.innerHTML = drawn.text;
    this.geometry = drawn.geometry;
    this.#caption(arrangement);
  }

  draw(width, height) {
    return draw(
        this.replay, this.arranged(),
        {id: this.id, width, height, view: this.view, chosen: this.chosen, way: this.way.path, sought: this.key},
        this.digits);
  }

  #caption(arrangement) {
    const {tree} = this;
    this.title.textContent =
        this.source.kind === 'live' ? describe(this.header) : `${this.source.title}: ${describe(this.header)}`;
    const said = [
      `${grouped(tree.keys)} keys`, `${arrangement.rows.length} level${arrangement.rows.length === 1 ? '' : 's'}`,
      `${grouped(arrangement.width)} leaves`
    ];
    if (this.far) {
      said.splice(1, 2, `${this.far.levels} levels`, `${grouped(this.far.leaves)} leaves`);
      said.push(this.far.middle === null ? 'from afar' : `surroundings of ${this.far.middle}`);
    }
    if (tree.latched > 0) said.push(`${tree.latched} latched`);
    if (tree.unposted > 0) said.push(`${tree.unposted} not posted`);
    if (tree.retries > 0) said.push(`${grouped(tree.retries)} ${tree.retries === 1 ? 'retry' : 'retries'}`);
    this.facts.textContent = said.join('  ·  ');
    this.svg.setAttribute(
        'aria-label',
        `${this.title.textContent}. ${said.join(', ')}. The tabs Nodes and Events hold the same as text.`);
  }

  /// Where to look: {from, to} in leaves, or null for all.
  look_at(view) {
    this.view = view;
    this.asked.view_changed(this);
  }

  /// All of it.
  fit() {
    this.look_at(null);
    if (this.far?.middle) this.far.show(null);
  }

  zoom(factor, about = 0.5) {
    const g = this.geometry;
    if (!g) return;
    const width = (g.to - g.from) * factor;
    if (factor > 1 && width >= g.arrangement.width) return this.fit();
    const pivot = g.from + (g.to - g.from) * about;
    const least = g.inner / g.closest;
    const next = Math.max(width, least);
    this.look_at({from: pivot - next * about, to: pivot + next * (1 - about)});
  }

  pan(share) {
    const g = this.geometry;
    if (!g || this.view === null) return;
    this.#move((g.to - g.from) * share);
  }

  #move(units) {
    const g = this.geometry;
    const width = g.to - g.from;
    const from = Math.min(Math.max(g.from + units, 0), Math.max(0, g.arrangement.width - width));
    this.look_at({from, to: from + width});
  }

  /// The surroundings of a node: a leaf with its neighbours, an inner node with all that is below it.
  expand(name) {
    const arrangement = this.arranged();
    const node = this.tree.nodes.get(name);
    if (this.far) {
      this.view = null;
      this.far.show(name);
      return true;
    }
    if (!placed(arrangement, node) || !this.geometry) return false;
    const row = arrangement.rows[node.row];
    const middle = (row.x0[node.i] + row.x1[node.i]) / 2;
    const span = Math.max((row.x1[node.i] - row.x0[node.i]) * 1.2, this.geometry.inner / this.geometry.closest);
    this.look_at(span >= arrangement.width ? null : {from: middle - span / 2, to: middle + span / 2});
    return true;
  }

  /// Moves on if the node of the event is out of sight.
  keep_in_sight(name) {
    if (this.view === null || !this.geometry) return;
    const arrangement = this.arranged();
    const node = this.tree.nodes.get(name);
    if (!placed(arrangement, node)) return;
    const row = arrangement.rows[node.row];
    const width = this.view.to - this.view.from;
    if (row.x1[node.i] > this.view.from && row.x0[node.i] < this.view.to) return;
    const middle = (row.x0[node.i] + row.x1[node.i]) / 2;
    this.view = {from: middle - width / 2, to: middle + width / 2};
  }

  node_at(x, y) {
    const g = this.geometry;
    const row = g?.arrangement.rows[g.row_at(y)];
    if (!row || Math.abs(y - g.y(g.row_at(y)) - g.card / 2) > g.card / 2 + 8) return null;
    const unit = g.unit(x);
    const [from, to] = g.visible(row);
    for (let low = from, high = to; low < high;) {
      const middle = (low + high) >> 1;
      if (unit < row.x0[middle])
        high = middle;
      else if (unit >= row.x1[middle])
        low = middle + 1;
      else
        return row.nodes[middle];
    }
    return null;
  }

  #listen() {
    const at = (e) => {
      const box = this.svg.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    };
    let drag = null;
    this.svg.addEventListener('pointerdown', (e) => {
      drag = {x: e.clientX, from: this.geometry?.from, moved: false, id: e.pointerId};
    });
    this.svg.addEventListener('pointermove', (e) => {
      if (drag === null || this.geometry === undefined || !(e.buttons & 1)) return;
      if (!drag.moved && Math.abs(e.clientX - drag.x) < 5) return;
      if (!drag.moved) this.svg.setPointerCapture(drag.id);
      drag.moved = true;
      if (this.view !== null) this.#move(drag.from - (e.clientX - drag.x) / this.geometry.scale - this.geometry.from);
    });
    this.svg.addEventListener('pointerup', (e) => {
      const moved = drag?.moved;
      drag = null;
      if (moved) return;
      const node = this.node_at(...at(e));
      if (node) this.asked.choose(this, node.n);
    });
    this.svg.addEventListener('dblclick', (e) => {
      const node = this.node_at(...at(e));
      if (node) this.expand(node.n);
    });
    this.svg.addEventListener('wheel', (e) => {
      if (!this.geometry) return;
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) return this.pan(e.deltaX / this.geometry.inner);
      const [x] = at(e);
      this.zoom(
          Math.exp(e.deltaY * 0.0016), Math.min(1, Math.max(0, (x - this.geometry.gutter) / this.geometry.inner)));
    }, {passive: false});
  }
}
