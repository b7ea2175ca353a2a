// live.js - the tab "Try it": choose a tree, then insert, erase, look up. The real library does it.
import {grouped, is_key} from './keys.js';
import {escape} from './marks.js';
import {tree_name} from './words.js';

export function shape_name(entry) { return tree_name(entry) + (entry.upper === 'express' ? ', express lane' : ''); }

const field = (name, control) => `<label class="field">${name} ${control}</label>`;
const number_field = (name, id, value, title = '') =>
    field(name, `<input id="${id}" inputmode="numeric" value="${value}" title="${title}">`);
const orders = (id) =>
    `<select id="${id}"><option>random</option><option>sequential</option><option>reversed</option></select>`;
const three_buttons = (first) => `<div class="pairs three">
  <button type="submit" class="${first}" value="insert">Insert</button>
  <button type="submit" value="erase">Erase</button>
  <button type="submit" value="find">Look up</button>
</div>`;

const form_text = (limits) => `
<form class="ask" id="new-tree">
  ${field('Tree', '<select id="shape"></select>')}
  <div class="pairs three">
    ${field('Slots', '<select id="slots"></select>')}
    ${number_field('Keys at first', 'fill', 0, `up to ${grouped(limits.keys_per_session)}`)}
    ${field('Order', orders('fill-order'))}
  </div>
  <button type="submit">New tree</button>
</form>
<h3>Keys</h3>
<form class="ask" id="one">
  ${
    field(
        'One, or several with spaces between',
        '<input id="one-keys" autocomplete="off" spellcheck="false" placeholder="45 7 1200">')}
  ${three_buttons('first')}
</form>
<h3>Range</h3>
<form class="ask" id="range">
  <div class="pairs three">
    ${number_field('From', 'range-from', 0)}
    ${number_field('To', 'range-to', 100)}
    ${field('&nbsp;', '<button type="submit">Read</button>')}
  </div>
</form>
<h3>Series</h3>
<form class="ask" id="series">
  <div class="pairs three">
    ${field('What', `<select id="series-op">
      <option value="insert">insert</option><option value="erase">erase</option><option value="find">look up</option>
    </select>`)}
    ${number_field('How many', 'series-n', 50, `up to ${grouped(limits.keys_per_call)}`)}
    ${field('Order', orders('series-order'))}
  </div>
  <div class="pairs three">
    ${number_field('From', 'series-from', 0)}
    ${number_field('<span id="series-to-name">To</span>', 'series-to', 999)}
    ${field('Threads', '<select id="threads"></select>')}
  </div>
  <button type="submit">Run the series</button>
</form>
<details><summary>A pasted list</summary>
<form class="ask" id="pasted">
  ${
    field(
        'Keys, with anything but digits between', '<textarea id="pasted-keys" rows="4" spellcheck="false"></textarea>')}
  ${three_buttons('')}
</form></details>
<p><button type="button" id="maintain" title="Rebuilds the inner levels">Maintain</button></p>
<p id="answer" class="answer" role="status"></p>`;

const verbs = {
  insert: 'Inserted',
  assign: 'Assigned',
  erase: 'Erased',
  find: 'Found'
};

function result_text(result) {
  if (result.op === 'maintain') return 'The inner levels were rebuilt.';
  if (result.op === 'range') {
    const keys = result.keys ?? [];
    const shown = keys.slice(0, 12).join(', ');
    return `${grouped(result.count)} keys${keys.length > 0 ? `: ${shown}${result.count > 12 ? ', …' : ''}` : ''}.`;
  }
  const not = result.unchanged > 0 ?
      `, ${grouped(result.unchanged)} ${result.op === 'insert' ? 'were there already' : 'were not there'}` :
      '';
  const room = result.no_room > 0 ? `, ${grouped(result.no_room)} found no room` : '';
  return `${verbs[result.op] ?? result.op} ${grouped(result.done)} of ${grouped(result.n)}${not}${room}.`;
}

function keys_of(text, most) {
  const keys = text.match(/[0-9]+/g) ?? [];
  if (keys.length === 0) throw new Error('Give at least one key: a whole number from 0 to 18446744073709551615.');
  const plain = keys.map((key) => key.replace(/^0+(?=.)/, ''));
  const bad = plain.find((key) => !is_key(key));
  if (bad !== undefined)
    throw new Error(`${
        bad.length > 30 ? `${bad.slice(0, 30)}…` :
                          bad} is not a key: keys are whole numbers from 0 to 18446744073709551615.`);
  if (plain.length > most) throw new Error(`These are ${grouped(plain.length)} keys; one call takes ${grouped(most)}.`);
  return plain;
}

function number_of(text, name, most) {
  const plain = text.replace(/[\s_]/g, '');
  if (!/^[0-9]+$/.test(plain) || Number(plain) > most)
    throw new Error(`${name} must be a whole number up to ${grouped(most)}.`);
  return Number(plain);
}

const key_of = (text, name) => {
  const key = text.trim();
  if (!is_key(key)) throw new Error(`${name} must be a key: a whole number from 0 to 18446744073709551615.`);
  return key;
};

export class live_panel {
  /// asked: {create(shape, fill), run(doing, threads) -> results}
  constructor(host, asked) {
    this.host = host;
    this.asked = asked;
  }

  set_up(info) {
    this.info = info;
    const {host} = this;
    host.innerHTML = form_text(info.limits);
    const get = (id) => host.querySelector(`#${id}`);
    get('shape').innerHTML =
        info.live.map((entry, i) => `<option value="${i}">${escape(shape_name(entry))}</option>`).join('');
    get('shape').addEventListener('change', () => this.#show_slots());
    get('threads').innerHTML =
        [1, 2, 4, 8, 16].filter((n) => n <= info.limits.threads).map((n) => `<option>${n}</option>`).join('');
    get('series-order').addEventListener('change', () => {
      const random = get('series-order').value === 'random';
      get('series-to-name').textContent = random ? 'To' : 'Step';
      get('series-to').value = random ? '999' : '1';
    });
    this.#show_slots();
    this.#on('new-tree', async () => {
      const fill = number_of(get('fill').value, 'The number of keys at first', info.limits.keys_per_session);
      await this.asked.create(
          this.chosen_shape(), fill > 0 ? {n: fill, order: get('fill-order').value, seed: 1} : null);
      return '';
    });
    this.#on('one', (op) => this.#run({op, keys: keys_of(get('one-keys').value, info.limits.keys_per_call)}));
    this.#on('pasted', (op) => this.#run({op, keys: keys_of(get('pasted-keys').value, info.limits.keys_per_call)}));
    this.#on(
        'range',
        () => this.#run(
            {op: 'range', from: key_of(get('range-from').value, 'From'), to: key_of(get('range-to').value, 'To')}));
    this.#on('series', () => this.#run(this.#series(get)));
    get('maintain').addEventListener('click', () => this.#do(() => this.#run({op: 'maintain'})));
  }

  #series(get) {
    const order = get('series-order').value;
    const n = number_of(get('series-n').value, 'The length of the series', this.info.limits.keys_per_call);
    const from = key_of(get('series-from').value, 'From');
    const to = key_of(get('series-to').value, order === 'random' ? 'To' : 'Step');
    const series = order === 'random' ? {n, order, seed: 1 + Math.floor(Math.random() * 1e6), from, to} :
                                        {n, order, from, step: to};
    return {op: get('series-op').value, series};
  }

  chosen_shape() {
    const entry = this.info.live[this.host.querySelector('#shape').value];
    return {
      index: entry.index,
      protocol: entry.protocol === 'none' ? undefined : entry.protocol,
      upper: entry.upper,
      slots: Number(this.host.querySelector('#slots').value)
    };
  }

  /// The panel shows what the page shows.
  show(header, fill) {
    const at = this.info.live.findIndex(
        (entry) => entry.index === header.index && entry.protocol === header.protocol &&
            (entry.upper ?? null) === (header.upper ?? null));
    if (at < 0) return;
    this.host.querySelector('#shape').value = at;
    this.#show_slots(header.slots);
    this.host.querySelector('#fill').value = fill?.n ?? 0;
    if (fill) this.host.querySelector('#fill-order').value = fill.order;
    const changes = header.protocol !== 'none' || header.index === 'radix';
    for (const button of this.host.querySelectorAll('button[value="insert"], button[value="erase"]')) {
      button.disabled = !changes;
      button.title = changes ? '' : 'This tree is not changed once it is built; look keys up, or choose another tree.';
    }
    for (const option of this.host.querySelectorAll('#series-op option'))
      option.disabled = !changes && option.value !== 'find';
    if (!changes) this.host.querySelector('#series-op').value = 'find';
    this.host.querySelector('#maintain').disabled = header.protocol === 'none';
  }

  #show_slots(wish) {
    const entry = this.info.live[this.host.querySelector('#shape').value];
    const select = this.host.querySelector('#slots');
    const before = wish ?? Number(select.value);
    select.innerHTML = entry.slots.map((n) => `<option>${n}</option>`).join('');
    if (entry.slots.includes(before)) select.value = before;
  }

  #on(id, then) {
    this.host.querySelector(`#${id}`).addEventListener('submit', (e) => {
      e.preventDefault();
      this.#do(() => then(e.submitter?.value || 'insert'));
    });
  }

  async #run(doing) {
    const results = await this.asked.run(doing, Number(this.host.querySelector('#threads').value));
    return results.map(result_text).join(' ');
  }

  async #do(what) {
    this.host.setAttribute('aria-busy', 'true');
    try {
      this.say(await what(), false);
    } catch (error) {
      this.say(error.message, true);
    }
    this.host.removeAttribute('aria-busy');
  }

  say(text, bad = false) {
    const answer = this.host.querySelector('#answer');
    if (answer === null) return;
    answer.textContent = text;
    answer.classList.toggle('bad', bad);
  }

  /// Without a server the page still reads files.
  set_up_without_server(sentence) {
    this.info = null;
    this.host.innerHTML = `<p class="hint"></p>`;
    this.host.firstChild.textContent = `${sentence} Recorded traces and files play; live trees need the program.`;
  }
}
