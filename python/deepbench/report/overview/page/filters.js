// The bar above the charts: what is shown, and by what points are coloured.
const FACETS = [
  ['family', 'family'], ['precision', 'precision'], ['application', 'application'],
  ['cache', 'cache'], ['mode', 'algorithm'], ['library', 'library'], ['bound', 'bound by'],
  ['stop', 'stop'], ['status', 'status'], ['device', 'device'], ['file', 'file'],
];
const COLOURS = ['op', 'precision', 'library', 'regime', 'family', 'application', 'bound', 'device', 'file'];

const filters = {chosen: new Map(), search: '', colour: firstColour()};

function firstColour() {
  const telling = ['op', 'precision', 'library', 'regime'];
  const plotted = rows.filter((row) => row.good && row.flops);
  return telling.find((name) => unique(plotted.map((row) => row[name])).length > 1) || 'op';
}

function visible() {
  const words = filters.search.toLowerCase().split(/\s+/).filter(Boolean);
  const facets = [...filters.chosen].filter(([, values]) => values.size);
  return rows.filter((row) => facets.every(([name, values]) => values.has(row[name]))
    && words.every((word) => row.words.includes(word)));
}

function buildFilters(changed) {
  const bar = document.getElementById('filters');
  const search = element('input', {type: 'search', placeholder: 'search rows', ariaLabel: 'search rows'});
  search.addEventListener('input', () => {
    filters.search = search.value;
    changed();
  });
  bar.append(search, ...FACETS.map(([name, title]) => facet(name, title, changed)).filter(Boolean));
  bar.append(colourChoice(changed), reset(search, changed));
  bar.hidden = false;
  document.addEventListener('click', (event) => {
    for (const open of bar.querySelectorAll('details[open]')) {
      if (!open.contains(event.target)) open.open = false;
    }
  });
}

function facet(name, title, changed) {
  const values = unique(rows.map((row) => row[name]));
  if (values.length < 2) return null;
  const chosen = new Set();
  filters.chosen.set(name, chosen);
  const summary = element('summary', {textContent: title});
  const box = element('details', {className: 'facet'}, summary, element('div'));
  box.dataset.facet = name;
  box.show = () => {
    box.classList.toggle('used', chosen.size > 0);
    summary.textContent = chosen.size ? `${title}: ${[...chosen].join(', ').slice(0, 40)}` : title;
  };
  for (const value of values) {
    const input = element('input', {type: 'checkbox', value});
    input.addEventListener('change', () => {
      chosen[input.checked ? 'add' : 'delete'](value);
      box.show();
      changed();
    });
    const count = rows.filter((row) => row[name] === value).length;
    box.lastChild.append(element('label', {}, input, ` ${value} `, element('span', {}, String(count))));
  }
  return box;
}

function colourChoice(changed) {
  const names = COLOURS.filter((name) => unique(rows.map((row) => row[name])).length > 1);
  const select = element('select', {ariaLabel: 'colour by'},
    ...names.map((name) => element('option', {value: name, selected: name === filters.colour}, name)));
  select.id = 'colour';
  select.addEventListener('change', () => {
    filters.colour = select.value;
    changed();
  });
  return element('label', {className: 'colour', hidden: names.length === 0}, 'colour ', select);
}

function reset(search, changed) {
  const button = element('button', {type: 'button', textContent: 'reset'});
  button.addEventListener('click', () => {
    search.value = filters.search = '';
    for (const values of filters.chosen.values()) values.clear();
    for (const input of document.querySelectorAll('#filters input[type="checkbox"]')) input.checked = false;
    for (const box of document.querySelectorAll('.facet')) box.show();
    changed();
  });
  return button;
}
