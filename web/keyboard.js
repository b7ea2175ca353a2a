// keyboard.js - one table of shortcuts: what the page does, and what the help says.

/// [keys, what the help calls them, what they do, name of the action]
const table = [
  [[' '], 'Space', 'Play or pause', 'play'],
  [['ArrowRight'], 'Right', 'One event on', 'step_on'],
  [['ArrowLeft'], 'Left', 'One event back', 'step_back'],
  [['Shift+ArrowRight'], 'Shift Right', 'To the end of the next operation', 'operation_on'],
  [['Shift+ArrowLeft'], 'Shift Left', 'To the end of the operation before', 'operation_back'],
  [['Home'], 'Home', 'To the start', 'to_start'],
  [['End'], 'End', 'To the end', 'to_end'],
  [[']'], ']', 'Faster', 'faster'],
  [['['], '[', 'Slower', 'slower'],
  [['m'], 'm', 'On to the next change of the shape or retry', 'change_on'],
  [['Shift+M'], 'Shift m', 'Back to the one before', 'change_back'],
  [['n'], 'n', 'On to the next event at the chosen node', 'touch_on'],
  [['Shift+N'], 'Shift n', 'Back to the one before', 'touch_back'],
  [['/'], '/', 'Search a key', 'search'],
  [['j', 'l'], 'j l', 'Choose the left, the right neighbour', 'neighbour'],
  [['i', 'k'], 'i k', 'Choose the parent, the first child', 'relative'],
  [['Enter'], 'Enter', 'Show the surroundings of the chosen node', 'expand'],
  [['+', '='], '+', 'Zoom in', 'zoom_in'],
  [['-'], '-', 'Zoom out', 'zoom_out'],
  [['0'], '0', 'Show all', 'fit'],
  [['a', 'd'], 'a d', 'Move the picture left, right', 'pan'],
  [['1', '2', '3', '4', '5'], '1 to 5', 'Open a tab of the side panel', 'tab'],
  [['g'], 'g', 'Recorded traces', 'gallery'],
  [['o'], 'o', 'Open a trace file', 'open'],
  [['c'], 'c', 'Put a second trace beside, or close it', 'compare'],
  [['w'], 'w', 'The other one of two traces: its nodes, its events', 'other'],
  [['Tab'], 'Tab', 'Through all controls, in order', null],
  [['y'], 'y', 'Copy a link', 'share'],
  [['s'], 's', 'Save the picture as SVG', 'save_svg'],
  [['Shift+S'], 'Shift s', 'Save the trace as JSON', 'save_json'],
  [['t'], 't', 'Light, dark, as the system', 'theme'],
  [['?'], '?', 'This list', 'help'],
  [['Escape'], 'Esc', 'Close a dialog, end the search', 'escape'],
];

export function help_text() {
  const entries = table.map(
      ([, name, what]) =>
          `<dt>${name.split(' ').map((k) => (k === 'to' ? k : `<kbd>${k}</kbd>`)).join(' ')}</dt><dd>${what}</dd>`);
  return `<h2 id="help-title">Keyboard</h2><dl>${
      entries.join(
          '')}</dl><form method="dialog" class="pairs"><button class="first">Close</button><button value="tour">Show the tour</button></form>`;
}

function name_of(e) {
  return e.shiftKey && (e.key.startsWith('Arrow') || /^[A-Z]$/.test(e.key)) ? `Shift+${e.key}` : e.key;
}

/// Fields and dialogs keep the keys they need for themselves.
function typing({target, key}) {
  if (target.closest('dialog[open]') || target.matches('textarea, select')) return true;
  if (target.matches('input[type="range"]')) return ['Home', 'End', 'PageUp', 'PageDown'].includes(key);
  if (target.matches('input')) return key !== 'Escape';
  return target.matches('button, summary, a') && (key === ' ' || key === 'Enter');
}

/// actions: name -> function(key)
export function set_up_keyboard(actions) {
  const found = new Map();
  for (const [keys, , , action] of table)
    for (const key of keys)
      if (action !== null) found.set(key, action);
  addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || typing(e)) return;
    const action = found.get(name_of(e));
    if (action === undefined) return;
    if (actions[action](e.key) !== false) e.preventDefault();
  });
}
