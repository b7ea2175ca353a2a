// words.js - events and sources as sentences.
import {grouped} from './keys.js';

export const team_name = (header) => (header.team?.startsWith('tile') ? 'Tile' : 'Thread');

const operations = {
  find: (e) => `looks up ${e.key}`,
  insert: (e) => `inserts ${e.key}`,
  assign: (e) => `assigns to ${e.key}`,
  update: (e) => `updates ${e.key}`,
  erase: (e) => `erases ${e.key}`,
  range: (e) => `reads from ${e.key} to ${e.to ?? 'the end'}`,
};

const arrivals = {
  root: 'the root',
  child: 'a child',
  link: 'along the right link',
  lane: 'straight from the table or lane',
  again: 'once more',
};

const reasons = {
  busy: 'another team has its latch',
  changed: 'it changed while it was read',
  restart: 'back to the root',
};

/// Which operation an end event ends: the file says it once, at the begin.
const begins = new WeakMap();

/// To be told of all events, in order; `from` is the first one that is new.
export function note_operations(events, from = 0) {
  const open = new Map();
  for (let i = from; i < events.length; ++i) {
    const e = events[i];
    if (e.e === 'begin')
      open.set(e.w, e);
    else if (e.e === 'end')
      begins.set(e, open.get(e.w));
  }
}

function result_of(e) {
  if (e.op === 'range') return `has read ${grouped(e.count ?? 0)} keys`;
  const key = begins.get(e)?.key ?? 'its key';
  if (e.result === 'no_room') return `found no room for ${key}`;
  const done =
      {find: 'found', insert: 'has inserted', assign: 'has assigned to', update: 'has updated', erase: 'has erased'};
  if (e.result === 'done') return `${done[e.op] ?? `is done with ${e.op} of`} ${key}`;
  return e.op === 'insert' ? `found ${key} there already` : `did not find ${key}`;
}

const sentences = {
  begin: (e) => (operations[e.op] ?? ((x) => `starts ${x.op}`))(e),
  end: result_of,
  reach: (e) => `reaches ${e.n}, ${arrivals[e.by] ?? e.by}`,
  latch: (e) => `latches ${e.n} (version ${e.version})`,
  unlatch: (e) => `releases ${e.n} (version ${e.version})`,
  insert: (e) => `puts ${e.key} into slot ${e.at} of ${e.n}`,
  erase: (e) => `takes ${e.key} from slot ${e.at} of ${e.n}`,
  assign: (e) => `gives ${e.key} in ${e.n} a new value`,
  split: (e) => `splits ${e.n}: ${e.new} is a copy of slots ${e.keep} and up`,
  link: (e) => `links ${e.n} to ${e.right}, which its parent does not know yet`,
  post: (e, index) => index === 'radix' ? `lets ${e.n} lead to ${e.child}${e.n === 'i0' ? '' : `, at byte ${e.key}`}` :
                                                                                          `posts ${e.child} to ${e.n}, from key ${e.key}`,
  grow: (e) => `grows the root ${e.n}: its children are ${e.left} and ${e.right}`,
  merge: (e) => `merges ${e.dead} into ${e.n}`,
  retry: (e) => `tries again at ${e.n}: ${reasons[e.why] ?? e.why}`,
  kind: (e) => `turns ${e.n} (${e.from}) into ${e.new} (${e.to})`,
  leaf: (e) => `makes leaf ${e.n} of ${e.key}, which no search can reach yet`,
  branch: (e) => `puts ${e.new} (node4) between ${e.n} and ${e.child}`,
  drop: (e) => `takes ${e.child} from ${e.n}${e.n === 'i0' ? '' : `, at byte ${e.key}`                                                }`,
  join: (e) => `removes ${e.gone}: ${e.n} leads to its last child ${e.child}`,
  state: (e) => `finds the tree rebuilt: ${e.why}`,
};

/// What was done, without who did it.
export const deed = (e, index) => (sentences[e.e] ?? (() => e.e))(e, index);

export const sentence = (e, header) => `${team_name(header)} ${e.w} ${deed(e, header.index)}`;

const index_names = {
  blink: 'B-link tree',
  radix: 'Radix tree',
  static: 'Static tree'
};

export function tree_name(header) {
  if (header.index === 'blink' && header.protocol === 'couple') return 'B+tree (latch coupling)';
  if (header.index === 'hybrid') return `Hybrid tree (${header.protocol === 'none' ? 'implicit' : 'regular'} layout)`;
  return index_names[header.index] ?? header.index;
}

export function describe(header) {
  const said = [tree_name(header)];
  if (header.upper === 'express') said.push('express lane');
  if (header.index !== 'radix') said.push(`${header.slots} slots`);
  said.push({cpu: 'CPU', gpu: 'GPU'}[header.device] ?? header.device);
  return said.join(', ');
}

export function time_text(t, header) {
  if (header.clock !== 'ns') return '';
  if (t < 1e4) return `${t} ns`;
  if (t < 1e7) return `${(t / 1e3).toFixed(1)} µs`;
  if (t < 1e10) return `${(t / 1e6).toFixed(1)} ms`;
  return `${(t / 1e9).toFixed(1)} s`;
}
