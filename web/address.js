// address.js - what the page shows, as the part of its address behind '#': a link to it shows the same to somebody
// else.
//
// Values are plain words and numbers. What is not understood is left out, so that an old or mistyped link still opens.

const names = ['trace', 'beside', 'live', 'ops', 'at', 'node', 'find', 'from', 'to', 'clock', 'side'];

export function read_address(hash = location.hash) {
  const state = {};
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  for (const name of names)
    if (given.has(name)) state[name] = given.get(name);
  return state;
}

export function write_address(state) {
  const pairs = [];
  for (const name of names) {
    const value = state[name];
    if (value === undefined || value === null || value === '') continue;
    // What a fragment may hold as it is stays readable.
    pairs.push(`${name}=${encodeURIComponent(value).replace(/%2C/g, ',').replace(/%3A/g, ':').replace(/%20/g, '+')}`);
  }
  return pairs.length === 0 ? '' : `#${pairs.join('&')}`;
}

let timer = 0;
let written = location.hash;

/// Some browsers refuse more than a hundred changes of the address in half a minute, so playing writes it seldom.
export function keep_address(state) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const hash = write_address(state());
    if (hash === written) return;
    written = hash;
    history.replaceState(null, '', hash || location.pathname);
  }, 350);
}

export function write_address_now(state) {
  clearTimeout(timer);
  written = write_address(state);
  history.replaceState(null, '', written || location.pathname);
  return location.href;
}

export function on_address_changed(then) {
  addEventListener('hashchange', () => {
    if (location.hash === written) return;
    written = location.hash;
    then(read_address());
  });
}
