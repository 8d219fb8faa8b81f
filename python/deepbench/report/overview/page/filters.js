// The bar above the charts: filters, and the property that colors show.
const FACETS = [
  ['family', 'family'], ['precision', 'precision'], ['application', 'application'],
  ['cache', 'cache'], ['mode', 'algorithm'], ['library', 'library'], ['bound', 'bound by'],
  ['stop', 'stop'], ['status', 'status'], ['device', 'device'], ['file', 'file'],
];
// The properties that colors can show: a row's field and its name on the page. Attributes follow.
const COLORS = [
  ['op', 'operation'], ['precision', 'precision'], ['library', 'library'], ['regime', 'regime'],
  ['application', 'application'], ['bound', 'bound by'], ['family', 'family'], ['device', 'device'],
  ['file', 'file'], ...Object.keys(report.colorable).map((name) => [`${name}=`, name]),
].filter(([name]) => isDistinctive(name));
// Charts whose colors show the selected property.
const KEYED = ['roofline', 'caches', 'algorithms'];
const MOST_KEYS = 12;  // the theme repeats its colors after these

const filters = {chosen: new Map(), search: '', color: COLORS.length ? COLORS[0][0] : 'op'};

// Whether the plotted rows differ in the property.
function isDistinctive(name) {
  const plotted = rows.filter((row) => row.good && row.flops);
  const some = plotted.length ? plotted : rows.filter((row) => row.good);
  return unique(some.map((row) => row[name])).length > 1;
}

function filteredRows() {
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
  bar.append(colorChoice(changed), reset(search, changed), element('div', {id: 'key'}));
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
  box.addEventListener('toggle', () => {
    box.classList.remove('ends');
    box.classList.toggle('ends', box.lastChild.getBoundingClientRect().right > document.body.clientWidth);
  });
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

function colorChoice(changed) {
  const select = element('select', {ariaLabel: 'color by'},
    ...COLORS.map(([name, title]) => element('option', {value: name, selected: name === filters.color}, title)));
  select.id = 'color';
  select.addEventListener('change', () => {
    filters.color = select.value;
    changed();
  });
  return element('label', {className: 'color', hidden: COLORS.length === 0}, 'color by ', select);
}

// Explains the colors beside the selection, as in the first chart that uses them.
async function showKey() {
  const container = document.getElementById('key');
  const name = KEYED.find((one) => views[one]);
  if (!name || COLORS.length === 0) {
    container.replaceChildren();
    return;
  }
  const view = await views[name].runAsync();
  const colorOf = view.scale('color');
  const values = legends(name).colors_here;
  const keys = values.slice(0, MOST_KEYS).map((value) => {
    const dot = element('i', {});
    dot.style.background = colorOf(value);
    return element('span', {}, dot, value);
  });
  const more = values.length - keys.length;
  container.replaceChildren(...keys, ...(more > 0 ? [`and ${more} more in repeated colors`] : []));
}

// Updates the explanation whenever that chart is redrawn.
function followChart() {
  const name = KEYED.find((one) => views[one]);
  if (!name) return;
  new MutationObserver(showKey).observe(document.getElementById(`chart-${name}`), {childList: true});
  showKey();
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
