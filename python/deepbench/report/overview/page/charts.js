// The charts: which rows each of them shows, and where. A click chooses a row.
const views = {};
const positions = {};  // by chart: where rows are, for the ring around the chosen one

const POINTS = {
  roofline: (row) => row.good && row.tflops && row.flops && row.bytes
    ? {x: row.flops / row.bytes, y: row.tflops} : null,
  bandwidth: (row) => row.good && !row.flops && row.bytes && row.gbps
    ? {x: row.bytes, y: row.gbps} : null,
};
const RATIO_X = {
  algorithms: (pair) => pair.time / 1e3,
  caches: (pair) => rows[pair.id].bytes,
  against: (pair) => pair.time / 1e3,
};
const conversionLine = (pair) => rows[pair.id].conversion === null ? ''
  : `a conversion of ${timeText(rows[pair.id].conversion, pair.time)} is not in the time`;
const RATIO_LINES = {
  algorithms: (pair) => [
    rows[pair.id].algorithm ? `algorithm ${rows[pair.id].algorithm}` : '',
    `default ${timeText(pair.other, pair.time)}, ${ratioText(pair.ratio)} times ours`, conversionLine(pair),
  ].filter(Boolean),
  caches: (pair) => [`cold ${timeText(pair.other, pair.time)}, ${ratioText(pair.ratio)} times hot`],
  against: (pair) => [
    `${pair.side}: ${timeText(pair.other, pair.time)}, ${ratioText(pair.ratio)} times ours`,
    pair.doubt ? `left out of means: ${pair.doubt}` : '',
    pair.cold ? 'ours is cold, theirs hot in the caches' : '', conversionLine(pair),
  ].filter(Boolean),
};

const PIXELS_FROM = 5000;  // rows from which on points are pixels
const DRAWING = {
  mode: 'vega', ast: true, actions: false, defaultStyle: false, logLevel: 1, tooltip: showTooltip,
  renderer: rows.length > PIXELS_FROM ? 'canvas' : 'svg',
};

const themeOfCharts = () => report.themes[document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light'];

// Draws a chart whose points can be clicked, in the page's colours. What was there stays until it is
// complete; whoever waits for a change of the place then finds the view that `use` has taken.
async function redrawn(place, spec, use) {
  const inner = element('div', {});
  const {view} = await drawChart(inner, {...spec, config: themeOfCharts()}, DRAWING);
  view.addEventListener('click', (_, item) => {
    if (!item || !item.datum || item.datum.id === undefined) return;
    choose(item.datum.id);
    reveal();
  });
  use(view);
  place.replaceChildren(inner);
}

async function buildChart(name) {
  const place = document.getElementById(`chart-${name}`);
  await redrawn(place, filled(name, place), (view) => {
    if (views[name]) views[name].finalize();
    views[name] = view;
  });
  // The filters or the choice may have changed since it was begun.
  if (name === 'distribution') showSamples(rows[chosenId]);
  else show(name, filteredRows());
}

// The chart with its first data, so that it is laid out once.
function filled(name, place) {
  const spec = structuredClone(report.charts[name]);
  const put = (set, values) => putInto(spec, set, values);
  const setSignal = (signal, value) => Object.assign(spec.signals.find((one) => one.name === signal) || {}, {value});
  if (name === 'distribution') {
    const some = rows[chosenId];
    for (const [set, values] of Object.entries(sampleData(some))) put(set, values);
    for (const [signal, value] of Object.entries(samplesWidths(place))) setSignal(signal, value);
    return spec;
  }
  const values = valuesOf(name, rows);
  spec.width = place.clientWidth;
  setSignal('outer_width', place.clientWidth);
  put('rows', values);
  put('corners', corners(name, values));
  put('chosen', ring(name, chosenId));
  put('ceilings', report.ceilings);
  put('limits', name === 'caches' ? report.limits : []);
  for (const [signal, value] of Object.entries(legends(name))) setSignal(signal, value);
  return spec;
}

// Charts are as light or dark as the page.
async function repaint() {
  for (const name of Object.keys(views)) await buildChart(name);
  await showSweep(filteredRows());
}
new MutationObserver(repaint).observe(document.documentElement,
  {attributes: true, attributeFilter: ['data-theme']});

const putInto = (spec, set, values) => {
  for (const one of spec.data) {
    if (one.name === set) one.values = values;
  }
};

function fitCharts() {
  for (const [name, view] of Object.entries(views)) {
    const place = document.getElementById(`chart-${name}`);
    if (!place.clientWidth) continue;
    if (name === 'distribution') {
      for (const [signal, value] of Object.entries(samplesWidths(place))) view.signal(signal, value);
      view.runAsync();
    } else view.width(place.clientWidth).signal('outer_width', place.clientWidth).runAsync();
  }
  fitSweep();
}

// Two invisible points keep logarithmic axes from having no length, or next to none.
const NARROWEST = 1.5;
function corners(name, values) {
  if (!values.length) return [];
  const heights = values.flatMap((value) => [value.y, value.low ?? value.y, value.high ?? value.y]);
  const [xs, ys] = [endsOf(values.map((value) => value.x)),
    endsOf(RATIO_X[name] ? [...heights, 1] : heights)];
  return [0, 1].map((end) => ({x: xs[end], y: ys[end]}));
}

function endsOf(values) {
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  if (low <= 0 || high >= NARROWEST * low) return [low, high];
  const middle = Math.sqrt(low) * Math.sqrt(high);
  return [middle / Math.sqrt(NARROWEST), middle * Math.sqrt(NARROWEST)];
}

function showCharts(visibleRows) {
  for (const name of Object.keys(views)) {
    if (name !== 'distribution') show(name, visibleRows);
  }
  showSweep(visibleRows);
}

function show(name, visibleRows) {
  const values = valuesOf(name, visibleRows);
  const place = document.getElementById(`chart-${name}`);
  place.classList.toggle('none', values.length === 0);  // nothing has no axes
  if (values.length === 0) return;
  const view = views[name];
  for (const [signal, value] of Object.entries(legends(name))) view.signal(signal, value);
  if (name === 'roofline') view.data('ceilings', visibleCeilings(values));
  if (name !== 'roofline') view.data('corners', corners(name, values));
  view.data('rows', values).data('chosen', ring(name, chosenId)).runAsync();
}

// The ceilings of what is shown.
function visibleCeilings(values) {
  const visibleRows = values.map((value) => rows[value.id]);
  const deviceOf = (row) => row.device || report.files[row.run].device;
  const devices = new Set(visibleRows.map(deviceOf));
  const plottedPrecisions = new Set(visibleRows.map((row) => `${deviceOf(row)} ${row.precision || 'arithmetic'}`));
  return report.ceilings.filter((line) => line.kind === 'memory' ? devices.has(line.device)
    : plottedPrecisions.has(`${line.device} ${line.precision}`));
}

function valuesOf(name, visibleRows) {
  const values = POINTS[name] ? points(name, visibleRows) : ratios(name, visibleRows);
  positions[name] = new Map(values.map((value) => [value.id, value]));
  return values;
}

// A colour and a shape mean the same in every chart, whatever the filters; legends name what the
// chart can show.
function legends(name) {
  const members = POINTS[name] ? rows.filter(POINTS[name]) : report.pairs[name].map((pair) => rows[pair.id]);
  const plotted = name === 'bandwidth' ? members : rows.filter((row) => row.good && row.flops);
  const sides = sidesOf(name);
  const colours = (some) => sides.length > 1 ? sides : unique(some.map((row) => colourOf(name, row)));
  const here = new Set(members.map((row) => row.regime));
  return {
    colours: colours(plotted), colours_here: colours(members),
    regimes: report.regimes, regimes_here: report.regimes.filter((regime) => here.has(regime)),
    label_width: labelWidth([...colours(members), ...here]),
  };
}

// Pixels of a legend's column with its symbol, as charts.py has them.
const labelWidth = (labels) => 40 + Math.min(300, 7 * Math.max(0, ...labels.map((label) => label.length)));

// Several others in one chart are told apart by colour before anything else.
const sidesOf = (name) => name === 'against' ? unique(report.pairs.against.map((pair) => pair.side)) : [];

// What moves bytes alone has neither precision nor much else to tell it apart by but its kind.
const colourOf = (name, row) => (name === 'bandwidth' && row.kind) || (row[filters.colour] ?? 'none');
const marking = (name, row) => ({id: row.id, colour: colourOf(name, row), regime: row.regime});

function points(name, visibleRows) {
  return visibleRows.flatMap((row) => {
    const place = POINTS[name](row);
    return place ? [{...place, ...marking(name, row)}] : [];
  });
}

function ratios(name, visibleRows) {
  const among = new Set(visibleRows.map((row) => row.id));
  const several = sidesOf(name).length > 1;
  return report.pairs[name].filter((pair) => among.has(pair.id)).map((pair) => ({
    x: RATIO_X[name](pair), y: pair.ratio, low: pair.low, high: pair.high, doubt: Boolean(pair.doubt),
    lines: RATIO_LINES[name](pair), ...marking(name, rows[pair.id]),
    ...(several ? {colour: pair.side} : {}),
  }));
}

// A ring around the row in every chart that shows it.
function ringAround(id) {
  for (const [name, view] of Object.entries(views)) {
    if (name !== 'distribution') view.data('chosen', ring(name, id)).runAsync();
  }
  ringSweep(id);
}

function ring(name, id) {
  const place = positions[name].get(id);
  return place ? [{x: place.x, y: place.y}] : [];
}
