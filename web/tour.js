// tour.js - five steps for first visitors over the first trace of the gallery. It stands above the picture, stops at
// any time, and comes once: the browser remembers that it was seen. The page stays usable while it is shown.

const stored = 'espalier-tour-seen';

function seen() {
  try {
    return localStorage.getItem(stored) !== null;
  } catch {
    return false;  // a browser that keeps nothing shows it each time
  }
}

function remember() {
  try {
    localStorage.setItem(stored, 'yes');
  } catch {
    // then it comes again
  }
}

/// The position behind the first event that is wanted, or 0.
function position_of(page, wanted) {
  const at = page.pane.source.trace.events.findIndex(wanted);
  return at < 0 ? 0 : at + 1;
}

/// [title, text, what the page does, what is outlined]
const steps = [
  [
    'A tree, as the library wrote it',
    'Leaves stand from left to right in the order of their keys, inner nodes above them. Curves lead ' +
        'from a slot to its child, arrows to the leaf on the right. Nothing is simulated: a recording is ' +
        'played.',
    (page) => page.go(0), '#panes'
  ],
  [
    'A full leaf splits',
    'The numbers are threads, and each event is one step. Thread 3 has latched a full leaf (thick border, ' +
        'padlock) and copied its upper half to a new leaf, which no search can reach yet. Threads 1 and 2 ' +
        'found the leaf latched and have to try again (circle with an arrow).',
    (page) => page.go(position_of(page, (e) => e.e === 'split')), '#panes'
  ],
  [
    'Reachable before the parent knows',
    'The right link is set: the new leaf (dashed, hatched) can be reached by its left neighbour, ' +
        'although no inner node names it. Readers that come too far left follow the arrow. This is what a ' +
        'B-link tree is about.',
    (page) => page.go(position_of(page, (e) => e.e === 'link')), '#panes'
  ],
  [
    'The parent is told',
    'The separator is posted, and the leaf gets its curve. The root was full and had to split first: the ' +
        'tree has one level more. Marks below the time line are changes of the shape (m goes to the next ' +
        'one), marks above it are retries.',
    (page) => page.go(position_of(page, (e) => e.e === 'post')), '.dock'
  ],
  [
    'Now you',
    'Space plays, the arrow keys step, ? lists all keys. Gallery has more recordings: an append, an erase ' +
        'wave, a GPU next to a CPU. Try it makes a live tree of your own, where espalier explore serves ' +
        'this page.',
    (page) => page.go(0), '#side-panel'
  ]
];

export class tour {
  constructor(page, host) {
    this.page = page;
    this.host = host;
    this.at = -1;
    this.box = Object.assign(document.createElement('section'), {className: 'tour', hidden: true});
    this.box.setAttribute('aria-label', 'Tour');
    this.box.setAttribute('aria-live', 'polite');
    host.prepend(this.box);
    this.box.addEventListener('click', (e) => {
      if (e.target.closest('[data-tour="next"]')) this.show(this.at + 1);
      if (e.target.closest('[data-tour="back"]')) this.show(this.at - 1);
      if (e.target.closest('[data-tour="skip"]')) this.end();
    });
  }

  get shown() { return !this.box.hidden; }

  /// For first visitors.
  offer() {
    if (!seen()) this.show(0);
  }

  show(at) {
    if (at >= steps.length) return this.end();
    this.at = Math.max(0, at);
    const [title, text, act, target] = steps[this.at];
    const last = this.at === steps.length - 1;
    this.box.innerHTML = `<div><h2>${title}</h2><p>${text}</p></div><div class="tour-tools"><span>${this.at + 1} of ${
        steps.length}</span>${this.at > 0 ? '<button type="button" data-tour="back">Back</button>' : ''}${
        last ? '' : '<button type="button" data-tour="skip">Skip</button>'}<button type="button" class="first"
 data-tour="next">${last ? 'Done' : 'Next'}</button></div>`;
    this.box.hidden = false;
    this.#outline(target);
    this.page.player.pause();
    act(this.page);
    return undefined;
  }

  end() {
    this.box.hidden = true;
    this.#outline(null);
    remember();
  }

  #outline(selector) {
    document.querySelectorAll('[data-tour-target]').forEach((e) => e.removeAttribute('data-tour-target'));
    if (selector) document.querySelector(selector)?.setAttribute('data-tour-target', '');
  }
}
