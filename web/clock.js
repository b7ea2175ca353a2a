// clock.js - one clock for one or two traces. A tick is a moment of the clock; positions[p][tick] says after how many
// events trace p stands then. So both traces move together, forwards and backwards, whatever they count by.
//
//   events      the k-th event of both at once
//   time        the time of the recorder, if both have it: traces of the same machine
//   operations  the k-th operation of both begins and ends at the same tick

export const ways = {
  events: 'event by event',
  operations: 'operation by operation',
  time: 'recorded time'
};

export function ways_for(traces) {
  const names = ['events', 'operations'];
  if (traces.every((trace) => trace.header.clock === 'ns')) names.push('time');
  return names;
}

const range = (n) => Uint32Array.from({length: n + 1}, (_, i) => i);

function by_events(traces) {
  const longest = Math.max(...traces.map((trace) => trace.events.length));
  return traces.map((trace) => range(longest).map((tick) => Math.min(tick, trace.events.length)));
}

function by_time(traces) {
  const at = traces.map(() => 0);
  const found = traces.map(() => [0]);
  for (;;) {
    let t = Infinity;
    traces.forEach((trace, p) => (t = at[p] < trace.events.length ? Math.min(t, trace.events[at[p]].t) : t));
    if (t === Infinity) break;
    traces.forEach((trace, p) => {
      while (at[p] < trace.events.length && trace.events[at[p]].t <= t) ++at[p];
      found[p].push(at[p]);
    });
  }
  return found.map((positions) => Uint32Array.from(positions));
}

/// Positions right after each end of an operation.
function ends(trace) {
  const found = [];
  trace.events.forEach((e, i) => {
    if (e.e === 'end') found.push(i + 1);
  });
  if (found.at(-1) !== trace.events.length) found.push(trace.events.length);
  return found;
}

function by_operations(traces) {
  const stops = traces.map(ends);
  const found = traces.map(() => [0]);
  for (let k = 0; stops.some((stop) => k < stop.length); ++k) {
    const begins = stops.map((stop) => stop[Math.min(k, stop.length) - 1] ?? 0);
    const lengths = stops.map((stop, p) => (k < stop.length ? stop[k] - begins[p] : 0));
    const longest = Math.max(...lengths);
    for (let i = 1; i <= longest; ++i) {
      // The shorter operation is spread over the longer one, so that both are done at the same tick.
      found.forEach((positions, p) => positions.push(begins[p] + Math.floor((i * lengths[p]) / longest)));
    }
  }
  return found.map((positions) => Uint32Array.from(positions));
}

export class clock {
  constructor() {
    this.way = 'events';
    this.tick = 0;
    this.positions = [Uint32Array.of(0)];
  }

  get last() { return this.positions[0].length - 1; }

  set(traces, way = this.way) {
    this.way = ways_for(traces).includes(way) ? way : 'events';
    this.positions = {events: by_events, time: by_time, operations: by_operations}[this.way](traces);
    this.tick = Math.min(this.tick, this.last);
  }

  /// The first tick at which trace p has seen `position` events.
  tick_of(p, position) {
    const positions = this.positions[p];
    let low = 0;
    let high = positions.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (positions[middle] < position)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
}

/// Ticks per second.
export const speeds = [1, 2, 5, 10, 25, 100, 1000, 10000];

/// Calls step(ticks) about sixty times a second while it plays.
export class player {
  #frame = 0;
  #last = 0;
  #owed = 0;
  constructor(step) {
    this.step = step;
    this.speed = 5;
  }
  get playing() { return this.#frame !== 0; }
  play() {
    if (this.playing) return;
    this.#last = performance.now();
    this.#owed = 1;  // the first step at once
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }
  pause() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }
  #tick(now) {
    this.#owed += (Math.min(250, Math.max(0, now - this.#last)) / 1000) * this.speed;
    this.#last = now;
    const ticks = Math.floor(this.#owed);
    this.#owed -= ticks;
    this.#frame = requestAnimationFrame((later) => this.#tick(later));
    if (ticks > 0) this.step(ticks);
  }
}
