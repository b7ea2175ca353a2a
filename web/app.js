// app.js - what the page shows: one or two traces, a clock, a chosen node, a searched key. Everything changes through
// here.
import {keep_address, write_address, write_address_now} from './address.js';
import {clock, player, speeds} from './clock.js';
import {is_gallery, open_gallery} from './gallery.js';
import {is_key} from './keys.js';
import {from_text, longest_text, shape_from_text, shape_to_text, to_text} from './operations.js';
import {pane} from './pane.js';
import {drop_session} from './server.js';
import {open_live, open_served, run_live} from './source.js';

const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

export class app {
  panes = [];
  active = 0;  // whose node and events the side panel shows
  clock = new clock();
  log = [];  // what was asked of live trees, for links
  tab = 'try';
  wished_clock = null;  // what two traces count by, once somebody has chosen
  #frame = 0;

  /// shown: {host (of panes), rendered(), said(text)}: the rest of the page, which follows.
  constructor(shown) {
    this.shown = shown;
    this.player = new player((ticks) => this.#advance(ticks));
    addEventListener('pagehide', () => this.panes.forEach((p) => this.#release(p.source)));
  }

  get pane() { return this.panes[this.active] ?? null; }
  get live() { return this.panes.length > 0 && this.panes.every((p) => p.source.kind === 'live'); }

  #release(source) {
    if (source?.kind === 'live') drop_session(source.id);
  }

  /// Shows these traces instead of what was there.
  show(sources) {
    this.player.pause();
    for (const old of this.panes)
      if (!sources.includes(old.source)) this.#release(old.source);
    const asked = {
      choose: (p, name) => this.choose(name, p),
      view_changed: () => this.later(),
      trouble: (text) => this.shown.trouble(text)
    };
    this.panes = sources.map((source) => this.panes.find((p) => p.source === source) ?? new pane(source, asked));
    this.shown.host.replaceChildren(...this.panes.map((p) => p.root));
    this.activate(this.active);
    this.clock.tick = 0;
    this.#traces_changed();
    this.go(0);
  }

  /// Live trees are asked the same, so they are compared by what they were asked.
  #traces_changed() {
    const way = this.panes.length < 2 ? 'events' : (this.wished_clock ?? (this.live ? 'operations' : 'events'));
    this.clock.set(this.panes.map((p) => p.source.trace), way);
    this.shown.traces_changed();
  }

  set_clock(way) {
    const p = this.active;
    const position = this.pane.replay.at;
    this.wished_clock = way;
    this.#traces_changed();
    this.go(this.clock.tick_of(p, position));
  }

  go(tick) {
    this.clock.tick = Math.max(0, Math.min(tick, this.clock.last));
    try {
      this.panes.forEach((p, i) => p.seek(this.clock.positions[i][this.clock.tick]));
    } catch (error) {
      this.player.pause();
      this.shown.trouble(error.message);
    }
    if (this.clock.tick === this.clock.last) this.player.pause();
    for (const p of this.panes)
      if (p.replay.event()?.n) p.keep_in_sight(p.replay.event().n);
    this.later();
  }

  #advance(ticks) { this.go(this.clock.tick + ticks); }

  step(by) {
    this.player.pause();
    this.go(this.clock.tick + by);
  }

  /// To the position of the active trace.
  go_to_position(position) {
    this.player.pause();
    this.go(this.clock.tick_of(this.active, position));
  }

  /// To the next (or, by -1, the one before) event of the active trace that is wanted.
  go_to_event(by, wanted) {
    const {events} = this.pane.source.trace;
    for (let i = this.pane.replay.at - 1 + by; i >= 0 && i < events.length; i += by) {
      if (wanted(events[i])) return this.go_to_position(i + 1);
    }
    this.shown.said(by > 0 ? 'There is no later one.' : 'There is no earlier one.');
  }

  play_or_pause() {
    if (this.player.playing)
      this.player.pause();
    else {
      if (this.clock.tick === this.clock.last) this.go(0);
      this.player.play();
    }
    this.later();
  }

  set_speed(speed) {
    this.player.speed = speed;
    this.later();
  }
  change_speed(by) {
    const at = Math.max(0, Math.min(speeds.length - 1, speeds.indexOf(this.player.speed) + by));
    this.set_speed(speeds[at]);
  }

  /// The side panel is about this one of two traces.
  activate(i) {
    this.active = Math.max(0, Math.min(i, this.panes.length - 1));
    this.panes.forEach((p, at) => p.root.classList.toggle('active', this.panes.length > 1 && at === this.active));
    this.later();
  }

  choose(name, p = this.pane) {
    this.activate(this.panes.indexOf(p));
    this.pane.chosen = name;
    this.shown.chosen(name);
    this.later();
  }

  /// Follows a key in every tree; null ends the search. Returns a sentence.
  async search(key) {
    for (const p of this.panes) {
      const coming = p.search(key);
      if (p.far) await coming;
    }
    this.later();
    if (key === null) return '';
    const {found, path} = this.pane.way;
    if (path.length > 0) {
      this.pane.chosen = path.at(-1).n;
      if (!this.pane.far && (this.pane.view !== null || !this.#readable())) this.pane.expand(path.at(-1).n);
    }
    const links = path.filter((step) => step.by === 'link').length;
    return `${key} is ${found ? '' : 'not '}there: ${path.map((step) => step.n).join(', ')}${
        links > 0 ? ` (${links} by right link)` : ''}.`;
  }

  /// Can the leaves be told apart?
  #readable() { return (this.pane.geometry?.scale ?? 0) > 20; }

  later() {
    if (this.panes.length > 0) keep_address(() => this.state());  // before, the address has not been read
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const begin = performance.now();
      for (const p of this.panes) p.render();
      this.shown.rendered();
      this.frame_ms = performance.now() - begin;
    });
  }

  /// A live tree of this shape, beside the one there is (`beside`) or instead of everything.
  async create(shape, fill, beside = false) {
    const made = await this.#open_live({shape, fill}, beside ? this.log : []);
    if (!beside) this.log = [];
    this.show(beside ? [this.panes[0].source, made] : [made]);
    if (beside) this.go(this.clock.last);
  }

  /// With what was asked of others already. Gives the session back where that fails.
  async #open_live({shape, fill}, log) {
    const made = await open_live(shape, fill);
    try {
      for (const {doing, threads} of log) await run_live(made, [doing], threads);
    } catch (error) {
      this.#release(made);
      throw error;
    }
    return made;
  }

  /// The same operation in every live tree; then what happened is played, or shown at its end.
  async run(doing, threads) {
    if (!this.live) throw new Error('A recorded trace cannot be changed; make a new tree first.');
    const before = this.clock.last;
    const results = await Promise.all(this.panes.map((p) => run_live(p.source, [doing], threads)));
    this.log.push({doing, threads});
    this.player.pause();
    this.#traces_changed();
    const made = this.clock.last - before;
    const watch = !calm() && (doing.keys?.length ?? 99) <= 3 && made < 120;
    this.go(watch ? before : this.clock.last);
    if (watch) this.player.play();
    return results.flat();
  }

  /// What a link needs to show the same.
  state() {
    const [first, second] = this.panes;
    if (!first) return {};
    const state = {
      at: this.clock.tick,
      node: first.chosen,
      find: first.key,
      side: this.tab === 'try' ? null : this.tab,
      clock: this.panes.length > 1 ? this.clock.way : null
    };
    if (first.view) {
      state.from = first.view.from.toFixed(2);
      state.to = first.view.to.toFixed(2);
    }
    if (['served', 'gallery'].includes(first.source.kind)) state.trace = first.source.id;
    if (first.source.kind === 'live') {
      state.live = shape_to_text(first.header, first.source.fill);
      const ops = this.log.map(to_text).join(';');
      if (ops.length <= longest_text) state.ops = ops;
    }
    if (['served', 'gallery'].includes(second?.source.kind)) state.beside = second.source.id;
    if (second?.source.kind === 'live') state.beside = shape_to_text(second.header, second.source.fill);
    return state;
  }

  /// Why a link would not show all of this, or "".
  link_lacks() {
    if (this.panes.some((p) => p.source.kind === 'file'))
      return 'A file that was opened here is not part of a link; start espalier explore --trace FILE and share that.';
    if (this.live && this.log.map(to_text).join(';').length > longest_text)
      return 'These are too many keys for a link; save the trace as JSON instead.';
    return '';
  }

  link() { return write_address_now(this.state()); }
  address() { return write_address(this.state()); }

  /// Shows what a link says. Returns false if it names no trace and no tree.
  async restore(state) {
    const log = state.trace ? [] : from_text(state.ops);
    const sources = [];
    try {
      for (const wish of [state.trace ?? state.live, state.beside]) {
        const live = shape_from_text(wish);
        if (live)
          sources.push(await this.#open_live(live, log));
        else if (wish && wish !== state.live)
          sources.push(await (is_gallery(wish) ? open_gallery(wish) : open_served(wish)));
        if (sources.length === 0) return false;
      }
    } catch (error) {
      sources.forEach((source) => this.#release(source));
      throw error;
    }
    this.log = log;
    this.wished_clock = state.clock ?? null;
    this.show(sources);
    this.#restore_look(state);
    return true;
  }

  #restore_look(state) {
    const [first] = this.panes;
    const from = Number(state.from);
    const to = Number(state.to);
    if (state.from !== undefined && Number.isFinite(from) && to > from) first.view = {from, to};
    const at = /^[0-9]{1,9}$/.test(state.at ?? '') ? Number(state.at) : this.live ? this.clock.last : 0;
    this.go(at);
    if (state.find !== undefined && is_key(state.find))
      for (const p of this.panes) p.search(state.find);
    if (state.node !== undefined && /^[a-z][0-9]{1,12}$/.test(state.node)) first.chosen = state.node;
  }
}
