// panels.js - the side panel: tabs, and what is in Node, Nodes, Events and Teams. The same as the picture, as text.
import {grouped} from './keys.js';
import {list} from './list.js';
import {escape} from './marks.js';
import {deed, sentence, team_name, time_text} from './words.js';

const tabs = ['try', 'node', 'nodes', 'events', 'teams'];

export function set_up_tabs(changed) {
  const buttons = tabs.map((name) => document.getElementById(`tab-${name}`));
  const open = (name, focus = false) => {
    tabs.forEach((other, i) => {
      buttons[i].setAttribute('aria-selected', other === name);
      buttons[i].tabIndex = other === name ? 0 : -1;
      document.getElementById(`panel-${other}`).hidden = other !== name;
      if (focus && other === name) buttons[i].focus();
    });
    changed(name);
  };
  buttons.forEach((button, i) => {
    button.addEventListener('click', () => open(tabs[i]));
    button.addEventListener('keydown', (e) => {
      const to = {ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1}[e.key];
      if (to === undefined) return;
      e.preventDefault();
      e.stopPropagation();
      open(tabs[(to + tabs.length) % tabs.length], true);
    });
  });
  return {open, names: tabs, current: () => tabs.find((_, i) => buttons[i].getAttribute('aria-selected') === 'true')};
}

function state_words(node, retrying) {
  const said = [];
  if (node.dead) said.push('dead: merged into another leaf');
  if (node.latch !== null) said.push(node.latch >= 0 ? `latched by team ${node.latch}` : 'latched');
  if (node.loose === 'linked') said.push('split off, its parent does not know it');
  if (node.loose === 'copy') said.push('a copy that nobody can reach yet');
  if (retrying.has(node.n)) said.push(`team ${retrying.get(node.n).join(', ')} tries again here`);
  return said.length === 0 ? 'at rest' : said.join('; ');
}

const name_button = (name) =>
    `<button type="button" class="linklike" data-go="${escape(name)}">${escape(name)}</button>`;

function fact_rows(node, pane) {
  const fill = node.slots > 0 ? Math.round((100 * node.keys.length) / node.slots) : 0;
  const rows = [
    ['Level', node.level === 0 ? '0 (leaf)' : node.level], ['State', escape(state_words(node, pane.replay.retrying()))]
  ];
  if (node.kind) rows.push(['Kind', escape(node.kind)]);
  if (node.prefix) rows.push(['Prefix', `<span class="mono">${escape(node.prefix)}</span>`]);
  rows.push([
    'Fill',
    `${node.keys.length} of ${node.slots} (${fill} %)<div class="meter" role="img" aria-label="${
        fill} per cent full"><i data-fill="${fill}"></i></div>`
  ]);
  if (pane.tree.linked) {
    rows.push(['High key', node.high === null ? 'no limit' : `<span class="mono">${escape(node.high)}</span>`]);
    rows.push([
      node.dead ? 'Merged into' : 'Right link',
      node.right === null ? 'none, the last of its level' : name_button(node.right)
    ]);
  }
  if (pane.tree.linked || (pane.header.index === 'radix' && node.children)) rows.push(['Version', node.version]);
  if (node.retries > 0) rows.push(['Retries', grouped(node.retries)]);
  return rows;
}

/// Of a tree that is too large to be here (far.js): several nodes side by side.
function render_cell(host, {n, level, latch, loose, cell}, expand) {
  const fill = Math.round(100 * cell.fill);
  const states = [
    latch !== null ? `${grouped(cell.latched)} latched` : '', loose !== '' ? `${grouped(cell.unposted)} not posted` : ''
  ].filter(Boolean).join(', ');
  host.innerHTML = `<div class="listhead"><h2>${
      cell.nodes === 1 ? escape(n) : `${grouped(cell.nodes)} nodes from ${escape(n)} on`}</h2>
<button type="button" id="expand" title="Show its surroundings (Enter)">Surroundings</button></div>
<dl class="facts"><dt>Level</dt><dd>${level === 0 ? '0 (leaves)' : level}</dd><dt>State</dt><dd>${
      states || 'at rest'}</dd>
<dt>From key</dt><dd><span class="mono">${escape(cell.low)}</span></dd>
<dt>Fill</dt><dd>${fill} %<div class="meter" role="img" aria-label="${fill} per cent full"><i data-fill="${
      fill}"></i></div></dd></dl>
<p class="hint">This tree is too large to be drawn node by node. Its surroundings show a node with its keys.</p>`;
  host.querySelector('[data-fill]').style.width = `${fill}%`;
  host.querySelector('#expand').addEventListener('click', expand);
}

export function render_node(host, pane, go, expand) {
  const node = pane?.tree.nodes.get(pane.chosen);
  if (!node) {
    host.innerHTML = pane?.chosen ?
        `<h2>${escape(pane.chosen)}</h2><p class="hint">This node does not exist at this moment of the trace.</p>` :
        `<p class="hint">Click a node, or move with <kbd>i</kbd> <kbd>j</kbd> <kbd>k</kbd> <kbd>l</kbd>, to see its keys,
high key, fill and version.</p>`;
    return;
  }
  if (node.cell) return render_cell(host, node, expand);
  const facts = fact_rows(node, pane).map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`).join('');
  const most = 512;
  const long = node.keys.some((key) => key.length > 8);
  const spare = Math.min(Math.max(0, node.slots - node.keys.length), 64);
  const keys = node.keys.slice(0, most)
                   .map(
                       (key, i) => `<li${key === pane.key ? ' class="sought"' : ''} title="slot ${i}${
                           node.children ? `, to ${escape(node.children[i])}` : ''}">${escape(key)}</li>`)
                   .join('');
  const children = node.children ? `<h3>Children</h3><p>${node.children.slice(0, 64).map(name_button).join(' ')}${
                                       node.children.length > 64 ? ` and ${node.children.length - 64} more` : ''}</p>` :
                                                                   '';
  host.innerHTML = `<div class="listhead"><h2>${
      escape(
          node.n)}</h2><button type="button" id="expand" title="Show its surroundings (Enter)">Surroundings</button></div>
<dl class="facts">${facts}</dl><h3>Keys</h3><ol class="keys${long ? ' long' : ''}">${keys}${
      node.kind ? '' : '<li class="spare" aria-hidden="true"></li>'.repeat(spare)}</ol>${
      node.keys.length > most ? `<p class="hint">The first ${most} of ${grouped(node.keys.length)}.</p>` :
                                ''}${children}`;
  host.querySelector('[data-fill]').style.width = `${fill_of(host)}%`;
  host.querySelector('#expand').addEventListener('click', expand);
  for (const button of host.querySelectorAll('[data-go]'))
    button.addEventListener('click', () => go(button.dataset.go));
}

const fill_of = (host) => host.querySelector('[data-fill]').dataset.fill;

/// All nodes in the order of the picture.
export function make_nodes_list(host, asked) {
  const head = document.createElement('p');
  head.className = 'hint';
  host.append(head);
  let rows = [];
  const find = (i) => {
    for (const row of rows) {
      if (i < row.nodes.length) return row.nodes[i];
      i -= row.nodes.length;
    }
    return null;
  };
  const nodes = new list(host, {
    label: 'Nodes',
    count: () => rows.reduce((sum, row) => sum + row.nodes.length, 0),
    row: (i) => {
      const node = find(i);
      const marks = [
        node.latch !== null ? 'latched' : '', node.loose === 'linked' ? 'not posted' : '',
        node.loose === 'copy' ? 'copy' : ''
      ].filter(Boolean).join(', ');
      if (node.cell)
        return {
          number: node.n,
          text: `level ${node.level}  ${grouped(node.cell.nodes)} node${node.cell.nodes === 1 ? '' : 's'}  ${
              Math.round(100 * node.cell.fill)} %  from ${node.cell.low}${marks ? `  (${marks})` : ''}`,
          chosen: node.n === asked.pane().chosen
        };
      const range = node.keys.length === 0 ? 'empty' :
          node.keys.length === 1           ? node.keys[0] :
                                             `${node.keys[0]} … ${node.keys.at(-1)}`;
      return {
        number: node.n,
        text: `level ${node.level}  ${node.keys.length}/${node.slots}  ${range}${marks ? `  (${marks})` : ''}`,
        chosen: node.n === asked.pane().chosen
      };
    },
    choose: (i, entered) => asked.choose(find(i).n, entered),
  });
  return {
    render() {
      rows = asked.pane().arranged().rows;
      const {far, tree} = asked.pane();
      head.textContent = `${grouped(far?.nodes ?? tree.nodes.size)} nodes, from the root down${
          far ? ', some of them together' : ''}. Enter shows the surroundings.`;
      nodes.render();
    },
  };
}

export function make_events_list(host, asked) {
  const head = document.createElement('p');
  head.className = 'hint';
  host.append(head);
  const events = new list(host, {
    label: 'Events',
    count: () => asked.pane().source.trace.events.length,
    row: (i) => {
      const {replay, header, source} = asked.pane();
      return {
        number: i,
        text: sentence(source.trace.events[i], header),
        chosen: i === replay.at - 1,
        type: i >= replay.at ? 'later' : ''
      };
    },
    choose: (i) => asked.go(i + 1),
  });
  return {
    render() {
      const {source, replay} = asked.pane();
      const {trace} = source;
      const lost = trace.lost > 0 ? ` ${grouped(trace.lost)} more did not fit into the recorder's memory.` : '';
      head.textContent = `${grouped(trace.events.length)} events.${lost}${trace.left_out ? ` ${trace.left_out}` : ''}`;
      events.reveal(replay.at - 1);
      events.render();
    },
  };
}

export function render_teams(host, pane, go) {
  const {tree, header, source} = pane;
  const workers = [...tree.workers.values()].filter((who) => who.last >= 0).sort((a, b) => a.w - b.w);
  const name = team_name(header);
  const shown = workers.slice(0, 64).map((who) => {
    const last = source.trace.events[who.last];
    const time = header.clock === 'ns' ? ` (${time_text(last.t, header)})` : '';
    const doing = who.op ? `It ${escape(deed(who.op, header.index))}.${
                               last === who.op ? '' : ` Last${time}: it ${escape(deed(last, header.index))}.`}` :
                           `It ${escape(deed(last, header.index))}${time}.`;
    const path = who.path.length > 0 ? `<p>${who.path.map(name_button).join(' → ')}</p>` : '';
    return `<h3>${name} ${who.w}: ${grouped(who.operations)} operations, ${grouped(who.retries)} retries</h3><p>${
        doing}</p>${path}`;
  });
  const more = workers.length > 64 ? `<p class="hint">and ${workers.length - 64} more.</p>` : '';
  host.innerHTML = workers.length === 0 ? '<p class="hint">No team has done anything yet at this moment.</p>' :
                                          shown.join('') + more;
  for (const button of host.querySelectorAll('[data-go]'))
    button.addEventListener('click', () => go(button.dataset.go));
}
