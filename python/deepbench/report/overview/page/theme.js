// The theme is light or dark, as the system prefers, until the reader selects one. <html
// data-theme> holds the current theme, and charts follow it. Printed pages are light.
const systemPrefersDark = matchMedia('(prefers-color-scheme: dark)');
const theme = {chosen: null};
const preferredTheme = () => theme.chosen || (systemPrefersDark.matches ? 'dark' : 'light');
const otherTheme = (name) => (name === 'dark' ? 'light' : 'dark');

function showTheme(name) {
  if (document.documentElement.dataset.theme !== name) document.documentElement.dataset.theme = name;
  document.getElementById('theme').textContent = `${otherTheme(name)} colors`;
}

document.getElementById('theme').addEventListener('click', () => {
  theme.chosen = otherTheme(preferredTheme());
  showTheme(theme.chosen);
});
systemPrefersDark.addEventListener('change', () => showTheme(preferredTheme()));
addEventListener('beforeprint', () => showTheme('light'));
addEventListener('afterprint', () => showTheme(preferredTheme()));
showTheme(preferredTheme());
