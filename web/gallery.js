// gallery.js - recorded traces that come with the page, and the dialog that lists them. They are files of the page
// (gallery/NAME.trace.gz), so a link to one works with every explorer. tests/explorer_page/record_gallery.py records
// them.
import {escape} from './marks.js';
import {check_whole} from './source.js';
import {read_trace} from './trace.js';

/// What is shown first is the first one.
export const gallery = [
  {
    names: ['split-storm'],
    title: 'A split storm',
    text: 'Four threads insert a hundred neighbouring keys into one place. Its leaf splits again and again, ' +
        'and for some moments leaves hang at right links alone.'
  },
  {
    names: ['append'],
    title: 'An append',
    text: 'One thread inserts ascending keys. Only the last leaf grows, and each split leaves a full one behind.'
  },
  {
    names: ['erase-wave'],
    title: 'An erase wave',
    text: 'Two threads erase all keys from the left to the right. Leaves that become empty are merged ' +
        'into their neighbours and left behind.'
  },
  {
    names: ['radix-growth'],
    title: 'A radix tree grows',
    text:
        'Keys with common beginnings arrive: prefixes are cut, and a node of 4 children becomes one of 16, then of 48.'
  },
  {
    names: ['xeon-link', 'h200-link'],
    title: 'CPU next to GPU',
    text: 'The same 512 inserts by two threads of a Xeon and by 64 tiles of an H200, on one clock.'
  },
  {
    names: ['h200-link', 'h200-couple'],
    title: 'Right links next to latch coupling',
    text: 'The same inserts on an H200 by two protocols: a reader with right links never waits.'
  }
];

const id_of = (name) => `gallery.${name}`;
export const is_gallery = (id) => /^gallery\.[a-z0-9-]{1,40}$/.test(id ?? '');

async function text_of(name) {
  const response = await fetch(`gallery/${name}.trace.gz`);
  if (!response.ok) throw new Error(`The gallery of this explorer has no trace called ${name}.`);
  return new Response(response.body.pipeThrough(new DecompressionStream('gzip'))).text();
}

/// A source as those of source.js, by its id: gallery.NAME.
export async function open_gallery(id) {
  const name = id.slice('gallery.'.length);
  const trace = read_trace(await text_of(name));
  check_whole(trace);
  return {kind: 'gallery', id, title: `${name}.trace`, trace};
}

export const open_entry = (entry) => Promise.all(entry.names.map((name) => open_gallery(id_of(name))));

/// Returns the action of the button. opened(sources) shows them.
export function set_up_gallery(attempt, opened) {
  const dialog = document.createElement('dialog');
  dialog.id = 'gallery';
  dialog.setAttribute('aria-labelledby', 'gallery-title');
  dialog.innerHTML = `<h2 id="gallery-title">Recorded traces</h2><ul class="cards">${
      gallery
          .map(
              (entry, i) => `<li><button type="button" value="${i}"><b>${escape(entry.title)}</b><span>${
                  escape(entry.text)}</span></button></li>`)
          .join('')}</ul>
<p class="hint">Recorded by the library itself. <q>Try it</q> next to the picture makes live trees.</p>
<form method="dialog"><button>Close</button></form>`;
  document.body.append(dialog);
  dialog.addEventListener('click', (e) => {
    const card = e.target.closest('.cards button');
    if (!card) return;
    dialog.close();
    attempt(async () => opened(await open_entry(gallery[Number(card.value)])));
  });
  return () => dialog.showModal();
}
