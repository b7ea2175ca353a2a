// theme.js - light, dark, or what the system says. Chosen once, remembered by the browser, never part of a shared link.

const choices = ['system', 'light', 'dark'];
const stored = 'espalier-theme';

function remembered() {
  try {
    const theme = localStorage.getItem(stored);
    return choices.includes(theme) ? theme : 'system';
  } catch {
    return 'system';  // a browser that keeps nothing
  }
}

function show(theme, button) {
  if (theme === 'system')
    delete document.documentElement.dataset.theme;
  else
    document.documentElement.dataset.theme = theme;
  button.textContent = {system: 'Auto', light: 'Light', dark: 'Dark'}[theme];
  button.setAttribute('aria-label', `Colours: ${theme}. Press for the next choice.`);
}

export function set_up_theme(button, changed) {
  let theme = remembered();
  show(theme, button);
  const next = () => {
    theme = choices[(choices.indexOf(theme) + 1) % choices.length];
    try {
      localStorage.setItem(stored, theme);
    } catch {
      // then it lasts as long as the page
    }
    show(theme, button);
    changed();
  };
  button.addEventListener('click', next);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  return next;
}
