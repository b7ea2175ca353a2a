// save.js - the picture as an SVG file, the trace as a JSON Lines file.
import {definitions, escape} from './marks.js';
import {replay} from './replay.js';
import {trace_address} from './server.js';
import {write_trace} from './trace.js';
import {describe} from './words.js';

function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], {type}));
  const link = Object.assign(document.createElement('a'), {href: address, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/// What the server has, without a way through the page's memory.
function save_from(address) { Object.assign(document.createElement('a'), {href: address, download: ''}).click(); }

/// Colours as programs know them that know neither variables nor color-mix: one pixel is painted and read.
function make_resolver() {
  const probe = document.createElement('span');
  document.body.append(probe);
  const context = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {
    willReadFrequently: true
  });
  const known = new Map();
  const resolve = (colour) => {
    if (!known.has(colour)) {
      probe.style.color = colour;
      context.fillStyle = getComputedStyle(probe).color;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
      known.set(colour, `#${[r, g, b].map((x) => x.toString(16).padStart(2, '0')).join('')}`);
    }
    return known.get(colour);
  };
  return {resolve, done: () => probe.remove()};
}

function picture_rules() {
  const sheet = [...document.styleSheets].find((s) => s.href?.endsWith('/picture.css'));
  const {resolve, done} = make_resolver();
  const rules = [...sheet.cssRules].map(
      (rule) => rule.cssText.replace(/color-mix\((?:[^()]|\([^()]*\))*\)/g, resolve)
                    .replace(/var\(--[a-z0-9-]+\)/g, resolve));
  done();
  return rules.join('\n');
}

/// All trees side by side, as they are on the page.
export function picture_text(panes) {
  const boxes = panes.map((pane) => pane.svg.getBoundingClientRect());
  const caption = 34;
  const width = Math.round(boxes.reduce((sum, box) => sum + box.width, 0));
  const height = Math.round(Math.max(...boxes.map((box) => box.height)) + caption);
  let x = 0;
  const parts = panes.map((pane, p) => {
    const box = boxes[p];
    const content = pane.draw(box.width, box.height).text;
    const part = `<g transform="translate(${Math.round(x)} ${caption})">${content}</g><text class="caption" x="${
        Math.round(x) +
        10}" y="22">${escape(describe(pane.header))}, after ${pane.replay.at} of ${pane.replay.length} events</text>`;
    x += box.width;
    return part;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<defs>${definitions}</defs><style>${picture_rules()}</style><rect class="ground" width="${width}" height="${height}"/>${
      parts.join('')}</svg>\n`;
}

export function save_picture(panes) { download('espalier.svg', 'image/svg+xml', picture_text(panes)); }

export function trace_text(source) {
  const all = new replay(source.trace);
  all.seek(source.trace.events.length);
  return write_trace(source.trace, source.trace.lost > 0 && source.trace.final ? source.trace.final : all.tree.state());
}

export function save_trace(source) {
  if (source.far) return save_from(trace_address(source.id));
  const name = source.kind === 'live' ? 'espalier.trace.jsonl' : source.title.replace(/[^\w.-]+/g, '_');
  download(/\.(jsonl|trace|json)$/.test(name) ? name : `${name}.jsonl`, 'application/x-ndjson', trace_text(source));
}
