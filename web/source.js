// source.js - where a trace comes from: a file of this computer, a trace that the server was given, or a live session.
import {most_nodes} from './far.js';
import {replay} from './replay.js';
import * as server from './server.js';
import {bad_trace, check_event, check_header, read_trace} from './trace.js';
import {note_operations} from './words.js';

/// Plays the whole trace once: what would fail in the middle of a replay is said before the page shows anything. Where
/// the file has the tree at the end, that must come out.
export function check_whole(trace) {
  const all = new replay(trace);
  all.seek(trace.events.length);
  note_operations(trace.events);
  if (trace.lost > 0 || trace.final === null) return;
  const sorted = (state) =>
      JSON.stringify(state.nodes
                         .map(({n,
                                level,
                                dead,
                                right,
                                high,
                                keys,
                                children}) => [n, level, dead, right, high, dead ? 0 : keys, children ?? null])
                         .sort((a, b) => (a[0] < b[0] ? -1 : 1)));
  if (trace.final.nodes.length !== all.tree.nodes.size || sorted(trace.final) !== sorted(all.tree.state())) {
    throw new bad_trace(
        'the events do not lead to the tree at the end of the file: some are missing or wrong; record it again.',
        trace.events.length + 2);
  }
}

export async function open_file(file) {
  if (file.size > 512 * 2 ** 20)
    throw new bad_trace(
        `${file.name} has more than 512 MiB, which is too much for a page; trace fewer operations or a smaller tree.`);
  const trace = read_trace(await file.text());
  check_whole(trace);
  return {kind: 'file', title: file.name, trace};
}

/// The header, and of a tree that is too large to come whole its summary.
async function begin_of({id, header, nodes}) {
  if (!(nodes > most_nodes)) return {header: check_header(await server.header_of(id, header)), far: null};
  const far = await server.summary(id, 0, 1024);
  const root = far.levels[0].cells[0].first;
  return {header: check_header({...header, start: {root, nodes: [], lane: []}}), far};
}

export async function open_served(id) {
  const about = await server.source(id);
  const {header, far} = await begin_of(about);
  const events = await server.events(id, 0, about.events);
  events.forEach((e, i) => check_event(e, i, i + 2));
  const trace = {header, events, lost: about.lost ?? 0, left_out: about.left_out ?? '', final: null};
  if (far === null)
    check_whole(trace);
  else
    note_operations(events);
  return {kind: 'served', id, title: about.title ?? id, trace, far};
}

/// shape: {index, protocol, upper, slots}; fill: {n, order, seed} or null.
export async function open_live(shape, fill) {
  const wish = {index: shape.index};
  for (const name of ['protocol', 'upper', 'slots'])
    if (shape[name] !== undefined) wish[name] = shape[name];
  if (fill) wish.fill = fill;
  const about = await server.create_session(wish);
  const {header, far} = await begin_of(about);
  return {
    kind: 'live',
    far,
    id: about.id,
    title: about.title ?? '',
    shape,
    fill,
    trace: {header, events: [], lost: 0, left_out: '', final: null}
  };
}

/// Runs operations in a live source and appends the events that they made. Returns the results.
export async function run_live(source, doing, threads) {
  const answer = await server.run(source.id, {do: doing, threads});
  const {events} = source.trace;
  const more = answer.from + answer.events.length < answer.total ?
      await server.events(source.id, answer.from + answer.events.length, answer.total) :
      [];
  const before = events.length;
  for (const e of answer.events.concat(more)) events.push(check_event(e, events.length));
  note_operations(events, before);
  source.trace.lost = answer.lost ?? 0;
  return answer.results;
}
