// main.js - brings the parts of the page together.
import {on_address_changed, read_address} from './address.js';
import {app} from './app.js';
import {speeds, ways, ways_for} from './clock.js';
import {set_up_compare} from './compare.js';
import {gallery, open_entry, set_up_gallery} from './gallery.js';
import {help_text, set_up_keyboard} from './keyboard.js';
import {grouped, is_key} from './keys.js';
import {live_panel} from './live.js';
import {definitions, legend} from './marks.js';
import {move_to_neighbour, move_to_relative} from './moves.js';
import {make_events_list, make_nodes_list, render_node, render_teams, set_up_tabs} from './panels.js';
import {save_picture, save_trace} from './save.js';
import * as server from './server.js';
import {open_file, open_served} from './source.js';
import {set_up_theme} from './theme.js';
import {timeline} from './timeline.js';
import {tour} from './tour.js';
import {describe, sentence, time_text, tree_name} from './words.js';

const get = (id) => document.getElementById(id);
let info = null;
let nodes_list = null;
let events_list = null;
const strip = new timeline(get('density'));

function said(text) { get('said').textContent = text; }

function trouble(text) {
  get('trouble-text').textContent = text;
  get('trouble').hidden = text === '';
}

/// Anything that may fail ends as a sentence on the page.
async function attempt(what) {
  try {
    trouble('');
    return await what();
  } catch (error) {
    trouble(error.message);
    return undefined;
  }
}

const page = new app({
  host: get('panes'),
  said,
  trouble,
  traces_changed() {
    strip.set(page.panes.map((p) => p.source.trace), page.clock);
    const [first] = page.panes;
    if (info && first?.source.kind === 'live') live.show(first.header, first.source.fill);
    const two = page.panes.length > 1;
    const live_name = two ? tree_name : describe;
    get('source').textContent =
        page.panes
            .map(
                (p, i) =>
                    (p.source.kind === 'live' ? `${i === 0 ? 'Live: ' : ''}${live_name(p.header)}` : p.source.title))
            .join(' beside ');
    get('clock-label').hidden = !two;
    if (two)
      get('clock').innerHTML = ways_for(page.panes.map((p) => p.source.trace))
                                   .map((way) => `<option value="${way}">${ways[way]}</option>`)
                                   .join('');
    get('clock').value = page.clock.way;
    get('compare').setAttribute('aria-pressed', two);
  },
  chosen(name) {
    if (page.tab === 'try' || page.tab === 'teams') tabs.open('node');
    said(`Node ${name} chosen.`);
  },
  rendered,
});

const live = new live_panel(get('panel-try'), {
  create: (shape, fill) => page.create(shape, fill),
  run: (doing, threads) => page.run(doing, threads),
});

const first_tour = new tour(page, get('stage'));

const tabs = set_up_tabs((name) => {
  page.tab = name;
  page.later();
});

function now_text() {
  return page.panes
      .map((p) => {
        const e = p.replay.event();
        const text = e ? sentence(e, p.header) : 'At the start';
        return page.panes.length > 1 ? `${describe(p.header)}: ${text}` : text;
      })
      .join('   |   ');
}

function render_dock() {
  const {clock, player} = page;
  const time = get('time');
  time.max = clock.last;
  time.value = clock.tick;
  const e = page.pane?.replay.event();
  time.setAttribute('aria-valuetext', `${clock.tick} of ${clock.last}. ${now_text()}`);
  get('position').textContent = `${grouped(clock.tick)} / ${grouped(clock.last)}${
      e && page.pane.header.clock === 'ns' ? `, ${time_text(e.t, page.pane.header)}` : ''}`;
  get('now').textContent = now_text();
  get('play').toggleAttribute('data-playing', player.playing);
  get('play').setAttribute('aria-label', player.playing ? 'Pause' : 'Play');
  get('speed').value = player.speed;
  get('step-back').disabled = get('to-start').disabled = clock.tick === 0;
  get('step-on').disabled = get('to-end').disabled = clock.tick === clock.last;
  strip.draw(clock.last === 0 ? 0 : clock.tick / clock.last);
}

function rendered() {
  render_dock();
  if (!page.pane) return;
  const expand = () => page.pane.expand(page.pane.chosen);
  if (page.tab === 'node') render_node(get('panel-node'), page.pane, (name) => page.choose(name), expand);
  if (page.tab === 'nodes') nodes_list.render();
  if (page.tab === 'events') events_list.render();
  if (page.tab === 'teams') render_teams(get('panel-teams'), page.pane, (name) => page.choose(name));
}

async function search() {
  const text = get('search-key').value.trim();
  if (text === '') return page.search(null);
  if (!is_key(text)) return trouble(`${text} is not a key: keys are whole numbers from 0 to 18446744073709551615.`);
  trouble('');
  const sentence_of_search = await attempt(() => page.search(text));
  if (sentence_of_search === undefined) return;
  if (page.tab !== 'node') tabs.open('node');
  said(sentence_of_search);
  get('now').textContent = sentence_of_search;
}

async function share() {
  const lacks = page.link_lacks();
  if (lacks !== '') return trouble(lacks);
  const address = page.link();
  try {
    await navigator.clipboard.writeText(address);
    flash(get('share'), 'Copied');
    said('The link is in the clipboard.');
  } catch {
    said('The address of this page is the link.');
  }
}

function flash(button, text) {
  const before = button.textContent;
  button.textContent = text;
  setTimeout(() => (button.textContent = before), 1200);
}

const shape_events =
    new Set(['split', 'link', 'post', 'grow', 'merge', 'kind', 'state', 'retry', 'branch', 'drop', 'join']);

function set_up_dock() {
  get('speed').innerHTML = speeds.map((speed) => `<option value="${speed}">${grouped(speed)}/s</option>`).join('');
  get('speed').addEventListener('change', () => page.set_speed(Number(get('speed').value)));
  get('clock').addEventListener('change', () => page.set_clock(get('clock').value));
  get('play').addEventListener('click', () => page.play_or_pause());
  get('step-on').addEventListener('click', () => page.step(1));
  get('step-back').addEventListener('click', () => page.step(-1));
  get('to-start').addEventListener('click', () => page.step(-Infinity));
  get('to-end').addEventListener('click', () => page.step(Infinity));
  get('time').addEventListener('input', () => {
    page.player.pause();
    page.go(Number(get('time').value));
  });
}

const each = (what) => () => page.panes.forEach(what);

function actions(next_theme, compare, show_gallery) {
  const touches = (e) => [e.n, e.new, e.right, e.child, e.left, e.dead, e.gone].includes(page.pane.chosen);
  return {
    play: () => page.play_or_pause(),
    step_on: () => page.step(1),
    step_back: () => page.step(-1),
    operation_on: () => page.go_to_event(1, (e) => e.e === 'end'),
    operation_back: () => page.go_to_event(-1, (e) => e.e === 'end'),
    to_start: () => page.step(-Infinity),
    to_end: () => page.step(Infinity),
    faster: () => page.change_speed(1),
    slower: () => page.change_speed(-1),
    change_on: () => page.go_to_event(1, (e) => shape_events.has(e.e)),
    change_back: () => page.go_to_event(-1, (e) => shape_events.has(e.e)),
    touch_on: () => page.go_to_event(1, touches),
    touch_back: () => page.go_to_event(-1, touches),
    search: () => get('search-key').focus(),
    neighbour: (key) => move_to_neighbour(page, key === 'j' ? -1 : 1),
    relative: (key) => move_to_relative(page, key === 'i' ? -1 : 1),
    expand: () => (page.pane?.chosen ? page.pane.expand(page.pane.chosen) : false),
    zoom_in: each((p) => p.zoom(0.6)),
    zoom_out: each((p) => p.zoom(1 / 0.6)),
    fit: each((p) => p.fit()),
    pan: (key) => page.panes.forEach((p) => p.pan(key === 'a' ? -0.25 : 0.25)),
    tab: (key) => tabs.open(tabs.names[Number(key) - 1], true),
    gallery: show_gallery,
    open: () => get('file').click(),
    compare,
    other: () => page.activate(page.panes.length - 1 - page.active),
    share,
    save_svg: () => save_picture(page.panes),
    save_json: () => save_trace(page.pane.source),
    theme: next_theme,
    help: () => get('help').showModal(),
    escape: () => {
      if (first_tour.shown) return first_tour.end();
      get('search-key').value = '';
      get('search-key').blur();
      page.search(null);
      trouble('');
      return undefined;
    },
  };
}

function set_up_bar(todo) {
  get('gallery-open').addEventListener('click', todo.gallery);
  get('open').addEventListener('click', todo.open);
  get('compare').addEventListener('click', todo.compare);
  get('share').addEventListener('click', todo.share);
  get('save-svg').addEventListener('click', todo.save_svg);
  get('save-json').addEventListener('click', todo.save_json);
  get('help-open').addEventListener('click', todo.help);
  get('help').innerHTML = help_text();
  get('help').addEventListener('close', () => {
    if (get('help').returnValue === 'tour') attempt(show_tour);
    get('help').returnValue = '';
  });
  get('trouble-close').addEventListener('click', () => trouble(''));
  get('search').addEventListener('submit', (e) => {
    e.preventDefault();
    search();
  });
  get('file').addEventListener('change', () => {
    const [file] = get('file').files;
    get('file').value = '';
    if (file) attempt(async () => page.show([await open_file(file)]));
  });
  addEventListener('dragover', (e) => e.preventDefault());
  addEventListener('drop', (e) => {
    e.preventDefault();
    const [file] = e.dataTransfer.files;
    if (file) attempt(async () => page.show([await open_file(file)]));
  });
}

/// Over the trace that it is about.
async function show_tour() {
  page.show(await open_entry(gallery[0]));
  first_tour.show(0);
}

/// What is shown when the address says nothing: the traces that the program was given; else, for a visitor who asked for
/// no other tree, the first trace of the gallery, with the tour for those who have not seen it; else a small live tree.
async function show_first(with_traces = true) {
  const given = with_traces ? info.sources.filter((source) => source.id.startsWith('t')).slice(0, 2) : [];
  if (given.length > 0) {
    const sources = [];
    for (const {id} of given) sources.push(await open_served(id));
    return page.show(sources);
  }
  if (with_traces && info.index === 'blink') {
    page.show(await open_entry(gallery[0]));
    return first_tour.offer();
  }
  const entry = info.live.find((e) => e.index === info.index) ?? info.live[0];
  const fixed = entry.protocol === 'none' && entry.index !== 'radix';
  const shape = {
    index: entry.index,
    protocol: entry.protocol === 'none' ? undefined : entry.protocol,
    upper: entry.upper,
    slots: entry.slots[0]
  };
  await page.create(shape, fixed ? {n: 200, order: 'random', seed: 1} : null);
  if (!fixed) await page.run({op: 'insert', series: {n: 24, order: 'random', seed: 3, from: '0', to: '999'}}, 1);
  return undefined;
}

async function restore(state) {
  await attempt(async () => {
    if (!(await page.restore(state))) await show_first();
  });
  if (state.find) get('search-key').value = state.find;
  if (tabs.names.includes(state.side)) tabs.open(state.side);
  // A link that cannot be followed still leaves something to look at.
  if (page.panes.length === 0 && info) {
    const sentence_of_link = get('trouble-text').textContent;
    await attempt(() => show_first(false));
    trouble(sentence_of_link || get('trouble-text').textContent);
  }
}

/// A copy of this page on a server of plain files, as in the site of scripts/docs, still has the gallery.
async function show_without_server(sentence) {
  try {
    if (await page.restore(read_address())) return;
    page.show(await open_entry(gallery[0]));
    first_tour.offer();
  } catch {
    trouble(sentence);
  }
}

async function start() {
  get('definitions').innerHTML = definitions;
  get('legend').innerHTML = legend();
  const compare = set_up_compare(page, {info: () => info, attempt});
  const show_gallery = set_up_gallery(attempt, (sources) => {
    first_tour.end();
    page.show(sources);
  });
  const todo = actions(set_up_theme(get('theme'), () => {
                         strip.repaint();
                         page.later();
                       }), compare, show_gallery);
  nodes_list = make_nodes_list(get('panel-nodes'), {
    pane: () => page.pane,
    choose: (name, entered) => {
      page.choose(name);
      if (entered) page.pane.expand(name);
    }
  });
  events_list =
      make_events_list(get('panel-events'), {pane: () => page.pane, go: (position) => page.go_to_position(position)});
  set_up_dock();
  set_up_bar(todo);
  set_up_keyboard(todo);
  new ResizeObserver(() => {
    if (page.panes.length > 0) page.shown.traces_changed();
    page.later();
  }).observe(get('panes'));
  on_address_changed(restore);
  try {
    info = await server.info();
    live.set_up(info);
  } catch (error) {
    live.set_up_without_server(error.message);
    await show_without_server(error.message);
    document.documentElement.dataset.ready = 'without-server';
    return;
  }
  await restore(read_address());
  document.documentElement.dataset.ready = 'yes';
}

start();
/// For tests and for people with a console open.
globalThis.espalier = page;
