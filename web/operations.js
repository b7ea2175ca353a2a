// operations.js - what was asked of a live tree, as text for an address and back:
//
//   insert:45,7;find:7;range:0,100;insert:random,100,1,0,1000000;maintain    ... and *4 behind one for four threads
//
// A link holds the operations, not their outcome: whoever opens it sees the real library do them again.
import {is_key} from './keys.js';

const with_keys = ['insert', 'assign', 'erase', 'find'];
const orders = ['random', 'sequential', 'reversed'];
/// Longer links are cut by some programs.
export const longest_text = 6000;

export function to_text({doing, threads}) {
  const suffix = threads > 1 ? `*${threads}` : '';
  if (doing.op === 'maintain') return 'maintain';
  if (doing.op === 'range') return `range:${doing.from},${doing.to}${suffix}`;
  if (!doing.series) return `${doing.op}:${doing.keys.join(',')}${suffix}`;
  const {order, n, seed, from, to, step} = doing.series;
  return `${doing.op}:${order},${n},${order === 'random' ? [seed, from, to].join(',') : [
    from, step
  ].join(',')}${suffix}`;
}

function series_of(order, [n, a, b, c]) {
  if (!/^[1-9][0-9]{0,6}$/.test(n ?? '')) return null;
  if (order === 'random') {
    return is_key(a ?? '') && is_key(b ?? '') && is_key(c ?? '') ?
        {n: Number(n), order, seed: Number(a), from: b, to: c} :
        null;
  }
  return is_key(a ?? '') && is_key(b ?? '') ? {n: Number(n), order, from: a, step: b} : null;
}

function one_of_text(text) {
  if (text === 'maintain') return {doing: {op: 'maintain'}, threads: 1};
  const parts = /^([a-z]+):([a-z0-9,]+)(?:\*([1-9][0-9]?))?$/.exec(text);
  if (parts === null) return null;
  const [, op, list, threads] = parts;
  const words = list.split(',');
  const on = Number(threads ?? 1);
  if (op === 'range')
    return words.length === 2 && words.every(is_key) ? {doing: {op, from: words[0], to: words[1]}, threads: on} : null;
  if (!with_keys.includes(op)) return null;
  if (orders.includes(words[0])) {
    const series = series_of(words[0], words.slice(1));
    return series && {doing: {op, series}, threads: on};
  }
  return words.every(is_key) ? {doing: {op, keys: words}, threads: on} : null;
}

/// What is not understood is left out.
export function from_text(text) { return (text ?? '').split(';').map(one_of_text).filter((entry) => entry !== null); }

/// blink,link,classic,8 and, where the tree was filled first, +1000,random,1
export function shape_to_text(shape, fill) {
  const text = [shape.index, shape.protocol ?? 'none', shape.upper ?? '', shape.slots].join(',');
  return fill ? `${text},${fill.n},${fill.order},${fill.seed ?? 1}` : text;
}

export function shape_from_text(text) {
  const [index, protocol, upper, slots, n, order, seed] = (text ?? '').split(',');
  if (!['blink', 'radix', 'static', 'hybrid'].includes(index)) return null;
  const shape = {index};
  if (['link', 'couple'].includes(protocol)) shape.protocol = protocol;
  if (['classic', 'express'].includes(upper)) shape.upper = upper;
  if (/^[0-9]{1,4}$/.test(slots ?? '')) shape.slots = Number(slots);
  const fill =
      /^[0-9]{1,8}$/.test(n ?? '') && orders.includes(order) ? {n: Number(n), order, seed: Number(seed) || 1} : null;
  return {shape, fill};
}
