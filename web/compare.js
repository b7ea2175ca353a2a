// compare.js - the dialog that puts a second trace beside the first.
import {gallery, open_gallery} from './gallery.js';
import {shape_name} from './live.js';
import {escape} from './marks.js';
import {open_file, open_served} from './source.js';

function choices(page, info) {
  const found = [];
  const first = page.panes[0]?.source;
  for (const {id, title} of info?.sources ?? []) {
    if (id.startsWith('t') && id !== first?.id) found.push([`source ${id}`, `Trace: ${title}`]);
  }
  if (first?.kind === 'live') {
    info.live.forEach(
        (entry, i) => entry.slots.forEach(
            (slots) => found.push([`live ${i} ${slots}`, `Live: ${shape_name(entry)}, ${slots} slots`])));
  }
  for (const name of new Set(gallery.flatMap((entry) => entry.names)))
    if (first?.id !== `gallery.${name}`) found.push([`gallery gallery.${name}`, `Gallery: ${name}`]);
  found.push(['file', 'A file of this computer…']);
  return found;
}

/// The shape that says most beside the first one: the same width, the other protocol.
function likely(page, info, found) {
  const header = page.panes[0]?.header;
  if (!header || page.panes[0].source.kind !== 'live') return found[0][0];
  const other = info.live.findIndex(
      (entry) =>
          entry.index === header.index && entry.slots.includes(header.slots) && entry.protocol !== header.protocol);
  return other >= 0 ? `live ${other} ${header.slots}` : found[0][0];
}

function pick_file(then) {
  const input = Object.assign(document.createElement('input'), {type: 'file', accept: '.json,.jsonl,.trace,.ndjson'});
  input.addEventListener('change', () => input.files[0] && then(input.files[0]));
  input.click();
}

async function put_beside(page, info, wish, attempt) {
  const [kind, a, b] = wish.split(' ');
  const first = page.panes[0].source;
  if (kind === 'file') return pick_file((file) => attempt(async () => page.show([first, await open_file(file)])));
  if (kind === 'source') return attempt(async () => page.show([first, await open_served(a)]));
  if (kind === 'gallery') return attempt(async () => page.show([first, await open_gallery(a)]));
  const entry = info.live[Number(a)];
  const shape = {
    index: entry.index,
    protocol: entry.protocol === 'none' ? undefined : entry.protocol,
    upper: entry.upper,
    slots: Number(b)
  };
  return attempt(() => page.create(shape, first.fill, true));
}

/// Returns the action of the button: opens the dialog, or closes the second trace.
export function set_up_compare(page, {info, attempt}) {
  const dialog = document.createElement('dialog');
  dialog.id = 'beside';
  dialog.setAttribute('aria-labelledby', 'beside-title');
  document.body.append(dialog);
  return () => {
    if (page.panes.length > 1) return page.show([page.panes[0].source]);
    if (page.panes.length === 0) return undefined;
    const found = choices(page, info());
    const first = likely(page, info(), found);
    dialog.innerHTML = `<form method="dialog" class="ask"><h2 id="beside-title">Beside it</h2>
<label class="field">Second trace <select id="beside-what">${
        found
            .map(([value,
                   name]) => `<option value="${value}"${value === first ? ' selected' : ''}>${escape(name)}</option>`)
            .join('')}</select></label>
<p class="hint">Both follow one clock. Live trees are asked the same.</p>
<div class="pairs"><button value="yes" class="first">Put it beside</button>
<button value="no">Cancel</button></div></form>`;
    dialog.addEventListener('close', () => {
      if (dialog.returnValue === 'yes') put_beside(page, info(), dialog.querySelector('#beside-what').value, attempt);
      dialog.returnValue = '';
    }, {once: true});
    dialog.showModal();
    return undefined;
  };
}
