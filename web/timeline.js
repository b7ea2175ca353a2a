// timeline.js - the strip above the slider: how many events there are where, and where the shape changed or teams tried
// again.

const structural = new Set(['link', 'grow', 'merge', 'kind', 'state', 'branch', 'join']);

function colours(canvas) {
  const probe = document.createElement('span');
  canvas.parentElement.append(probe);
  const of = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const found = {plain: of('--rule-2'), shape: of('--loose'), retry: of('--retry'), now: of('--accent')};
  probe.remove();
  return found;
}

export class timeline {
  constructor(canvas) {
    this.canvas = canvas;
    this.columns = null;
    this.colours = null;
  }

  /// Traces and the positions of their clock; to be told again when these change, and when the window does.
  set(traces, clock) {
    const width = Math.max(1, Math.round(this.canvas.clientWidth));
    const ticks = Math.max(1, clock.last);
    const make = () => new Float64Array(width);
    this.columns = {width, shape: make(), retry: make()};
    traces.forEach((trace, p) => {
      trace.events.forEach((e, i) => {
        const kind = e.e === 'retry' ? 'retry' : structural.has(e.e) ? 'shape' : null;
        if (kind === null) return;
        const x = Math.floor((clock.tick_of(p, i + 1) / ticks) * (width - 1));
        ++this.columns[kind][x];
      });
    });
  }

  /// The colours of the page have changed.
  repaint() { this.colours = null; }

  draw(share) {
    const {canvas, columns} = this;
    if (columns === null) return;
    const ratio = devicePixelRatio || 1;
    const height = 24;
    canvas.width = columns.width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    const colour = (this.colours ??= colours(canvas));
    context.fillStyle = colour.plain;
    context.fillRect(0, height - 3, columns.width, 1);
    const most = Math.max(1, ...columns.shape, ...columns.retry);
    const lift = (n) => (n === 0 ? 0 : 4 + 6 * Math.sqrt(n / most));
    for (let x = 0; x < columns.width; ++x) {
      // Changes of the shape stand up, retries are notched marks above them: told apart without colour.
      context.fillStyle = colour.shape;
      if (columns.shape[x] > 0) context.fillRect(x, height - 4 - lift(columns.shape[x]), 1.5, lift(columns.shape[x]));
      context.fillStyle = colour.retry;
      if (columns.retry[x] > 0) context.fillRect(x - 0.5, 2, 2.5, 2.5 + lift(columns.retry[x]) / 4);
    }
    context.fillStyle = colour.now;
    context.fillRect(Math.round(share * (columns.width - 1)) - 0.5, 0, 2, height);
  }
}
