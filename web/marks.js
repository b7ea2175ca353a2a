// marks.js - the signs of the picture and their legend. Each state has a shape, a border and a pattern of its own;
// colour only repeats what these say, so the picture reads the same in grey.

export const escape = (text) =>
    String(text).replace(/[&<>"]/g, (c) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[c]);

const arrow = (id, name, at, size) => `<marker id="${id}" viewBox="0 0 8 8" refX="${at}" refY="4" markerWidth="${size}"
 markerHeight="${size}" orient="auto"><path class="arrowhead ${name}" d="M0 .5 8 4 0 7.5z"/></marker>`;

export const definitions = `
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
  <path class="hatch" d="M0 0V6"/>
</pattern>${arrow('arrow', '', 7, 6)}${arrow('arrow-loose', 'loose', 7, 5)}`;

/// Square with a padlock: somebody has the latch.
export const latch_mark = (x, y) =>
    `<g class="mark-latch" transform="translate(${x} ${y})"><rect x="-8" y="-8" width="16" height="16" rx="3"/>
<path d="M-4 -.5h8v5.5h-8zM-2.5 -.5v-2a2.5 2.5 0 0 1 5 0v2"/></g>`;
/// Triangle: split off, and no parent knows it.
export const loose_mark = (x, y) => `<g class="mark-loose" transform="translate(${x} ${
    y})"><path d="M0 -9 9 7h-18z"/><path class="in" d="M0 -3.5v5M0 4v.6"/></g>`;
/// Circle with an arrow that turns back: a team had to try again.
export const retry_mark = (x, y) => `<g class="mark-retry" transform="translate(${x} ${
    y})"><circle r="8"/><path d="M3.6 -2.6a4.4 4.4 0 1 0 .7 3.6M4.4 -5.2v3h-3"/></g>`;
/// A number in a capsule: a team.
export function team_mark(x, y, w, current) {
  const half = 6 + 3.4 * String(w).length;
  return `<g class="mark-team${current ? ' current' : ''}" transform="translate(${x} ${y})"><rect x="${
      - half}" y="-8" width="${2 * half}" height="16" rx="8"/>
<text y="3.8">${escape(w)}</text></g>`;
}

/// The same shapes where a node is only some pixels wide.
export const small_marks = {
  latch: (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
  loose: (x, y) => `M${x} ${y - 4} ${x + 4} ${y + 3}h-8z`,
  retry: (x, y) => `M${x - 3.4} ${y}a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z`,
};

/// Dashes tell teams apart; the number in the capsule says which is which.
const dashes = ['none', '7 4', '2 4', '10 3 2 3', '4 2', '12 5'];
export const dashes_of = (w) => dashes[w % dashes.length];

const swatch = (content, width = 44) =>
    `<svg viewBox="0 0 ${width} 24" width="${width}" height="24" aria-hidden="true">${content}</svg>`;

export function legend() {
  const box = (type, mark) => `<g class="node ${type}"><rect class="box" x="3" y="4" width="30" height="17" rx="3"/>${
      type.includes('loose') ? '<rect class="hatching" x="3" y="4" width="30" height="17" rx="3"/>' : ''}</g>${mark}`;
  const entries = [
    [swatch(box('latched', latch_mark(34, 9))), 'latched'],
    [swatch(box('loose', loose_mark(34, 9))), 'split, parent does not know it'],
    [swatch(box('copy', '')), 'copy, not linked yet'],
    [swatch(box('retrying', retry_mark(34, 9))), 'retry'],
    [swatch(`<path class="team current" d="M2 12h40"/>${team_mark(22, 12, 3, true)}`), 'path of team 3'],
    [swatch(`<path class="sought" d="M2 12h40"/>`), 'path of the search'],
    [swatch(`<path class="right" d="M2 12h38" marker-end="url(#arrow)"/>`), 'right link'],
    [
      swatch([0, 0.25, 0.5, 0.75, 1]
                 .map(
                     (f, i) => `<rect class="fill f${Math.round(f * 8)}" x="${2 + i * 8}" y="${
                         20 - 16 * Math.max(f, 0.12)}" width="7" height="${16 * Math.max(f, 0.12)}"/>`)
                 .join('')),
      'fill 0 to 100 %'
    ],
  ];
  return entries.map(([picture, words]) => `<span class="entry">${picture}${words}</span>`).join('');
}
