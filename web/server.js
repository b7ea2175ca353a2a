// server.js - the interface of `espalier explore` (docs/explorer-api.md). A refusal becomes an Error with the server's
// sentence.

const base = 'api/v1';

async function answer_of(response) {
  if (response.ok) return response;
  let sentence = `The server answered ${response.status}.`;
  try {
    const said = await response.json();
    if (typeof said.error === 'string') sentence = said.error;
  } catch {
    // The program answers in JSON; a server of plain files does not.
    if (response.status === 404) sentence = 'The program espalier explore does not serve this page.';
  }
  throw new Error(sentence);
}

/// A question that a connection lost is asked once more: the server may have closed it while it rested. What changes
/// something is not.
async function fetched(path, options) {
  try {
    return await fetch(`${base}/${path}`, options);
  } catch (error) {
    if (options?.method) throw error;
    await new Promise((done) => setTimeout(done, 300));
    return fetch(`${base}/${path}`, options);
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetched(path, options);
  } catch {
    throw new Error(
        'The explorer does not answer: is espalier explore still running? Start it again, then reload this page.');
  }
  return answer_of(response);
}

const ask_json = async (path, options) => (await ask(path, options)).json();
const posted = (body) => ({method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});

export const info = () => ask_json('info');
export const create_session = (wish) => ask_json('sessions', posted(wish));
export const run = (id, body) => ask_json(`sessions/${id}/run`, posted(body));
export const source = (id) => ask_json(`sources/${encodeURIComponent(id)}`);
export const whole_trace = async (id) => (await ask(`sources/${encodeURIComponent(id)}/trace`)).text();

const of_source = (id, what) => ask_json(`sources/${encodeURIComponent(id)}/${what}`);
export const summary = (id, at, cells) => of_source(id, `summary?at=${at}&cells=${cells}`);
export const around = (id, at, name, reach) =>
    of_source(id, `around?at=${at}&n=${encodeURIComponent(name)}&reach=${reach}`);
export const path = (id, at, key) => of_source(id, `path?at=${at}&key=${key}`);
export const trace_address = (id) => `${base}/sources/${encodeURIComponent(id)}/trace`;

/// Also while the page goes away.
export function drop_session(id) {
  fetch(`${base}/sessions/${id}`, {method: 'DELETE', keepalive: true}).catch(() => {});
}

/// Events from `from` up to `total`, page by page.
export async function events(id, from, total) {
  const found = [];
  while (from < total) {
    const page = await ask_json(`sources/${encodeURIComponent(id)}/events?from=${from}&count=20000`);
    if (page.events.length === 0) break;
    found.push(...page.events);
    from += page.events.length;
  }
  return found;
}

/// The first line of the trace: its header, with the state at the start. A large tree has no other way to come as a
/// whole.
async function first_line(id) {
  const response = await ask(`sources/${encodeURIComponent(id)}/trace`);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const pieces = [];
  for (;;) {
    const {done, value} = await reader.read();
    if (done) break;
    const text = decoder.decode(value, {stream: true});
    const end = text.indexOf('\n');
    pieces.push(end < 0 ? text : text.slice(0, end));
    if (end >= 0) break;
  }
  reader.cancel().catch(() => {});
  try {
    return JSON.parse(pieces.join(''));
  } catch {
    throw new Error('The tree did not arrive whole, the explorer broke off; make it again, or a smaller one.');
  }
}

/// The header with `start`.
export async function header_of(id, header) {
  const response = await fetch(`${base}/sources/${encodeURIComponent(id)}/state?at=0`);
  if (response.status === 413) return first_line(id);
  const {state} = await (await answer_of(response)).json();
  return {...header, start: state};
}
