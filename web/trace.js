// trace.js - reads a trace file (docs/trace-format.md). What is wrong with it is said in one sentence, with the line.

const format = 1;
const kinds = new Set([
  'begin', 'end',  'reach', 'latch', 'unlatch', 'insert', 'erase', 'assign', 'split', 'link',
  'post',  'grow', 'merge', 'retry', 'kind',    'state',  'leaf',  'branch', 'drop',  'join'
]);

/// A sentence for people; `line` counts from 1.
export class bad_trace extends Error {
  constructor(sentence, line = 0) { super(line > 0 ? `Line ${line}: ${sentence}` : sentence); }
}

function parse_line(text, line) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new bad_trace('this is not JSON; a trace has one JSON object per line.', line);
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new bad_trace('a trace has one JSON object per line, and this is something else.', line);
  }
  return value;
}

export function check_header(header, line = 1) {
  if (header.trace !== 'espalier') {
    throw new bad_trace('this is not a trace of Espalier: its first line must say "trace":"espalier".', line);
  }
  if (!(header.format <= format)) {
    throw new bad_trace(
        `this trace has format ${header.format}, and this page reads up to ${format}; a newer Espalier reads it.`,
        line);
  }
  if (!Array.isArray(header.start?.nodes)) throw new bad_trace('the header has no "start" with "nodes".', line);
  check_state(header.start, line);
  return header;
}

function check_state(state, line) {
  for (const node of state.nodes) {
    if (typeof node.n !== 'string' || !Number.isInteger(node.level) || !Array.isArray(node.keys)) {
      throw new bad_trace('a node needs a name "n", a "level" and "keys".', line);
    }
    if (node.children && node.children.length !== node.keys.length) {
      throw new bad_trace(`node ${node.n} has ${node.keys.length} keys and ${node.children.length} children.`, line);
    }
  }
}

export function check_event(e, i, line = 0) {
  if (e.i !== i) throw new bad_trace(`event ${i} should stand here, and this is event ${e.i}.`, line);
  if (!kinds.has(e.e)) throw new bad_trace(`event ${i} is of the kind "${e.e}", which this page does not know.`, line);
  if (!Number.isInteger(e.w)) throw new bad_trace(`event ${i} does not say which worker it is of ("w").`, line);
  if (e.e === 'state') {
    if (!Array.isArray(e.state?.nodes)) throw new bad_trace(`event ${i} has no "state" with "nodes".`, line);
    check_state(e.state, line);
  }
  return e;
}

function* lines_of(text) {
  for (let from = 0, line = 1; from < text.length; ++line) {
    let to = text.indexOf('\n', from);
    if (to < 0) to = text.length;
    yield [text.slice(from, to).trim(), line];
    from = to + 1;
  }
}

/// {header, events, lost, left_out, final}. `final` is kept as text until somebody asks: it is as large as the tree.
export function read_trace(text) {
  let header = null;
  let end = null;
  const events = [];
  for (const [content, line] of lines_of(text)) {
    if (content === '') continue;
    if (end !== null) throw new bad_trace('the trace has ended above, and there is more.', line);
    if (header === null) {
      header = check_header(parse_line(content, line), line);
    } else if (content.startsWith('{"end"')) {
      end = parse_line(content, line);
      if (end.events !== events.length) {
        throw new bad_trace(`the end line speaks of ${end.events} events, and ${events.length} stand above.`, line);
      }
    } else {
      events.push(check_event(parse_line(content, line), events.length, line));
    }
  }
  if (header === null) throw new bad_trace('this file is empty; record a trace with espalier bench blink --trace FILE.');
  if (end === null)
    throw new bad_trace(
        `the trace breaks off after ${events.length} events: its end line is missing. Record it again.`);
  return {header, events, lost: end.lost ?? 0, left_out: end.left_out ?? '', final: end.final ?? null};
}

/// The same trace as a file.
export function write_trace(trace, final) {
  const lines = [JSON.stringify(trace.header)];
  for (const e of trace.events) lines.push(JSON.stringify(e));
  const end = {end: true, events: trace.events.length, lost: trace.lost, final};
  if (trace.left_out) end.left_out = trace.left_out;
  lines.push(JSON.stringify(end));
  return lines.join('\n') + '\n';
}
