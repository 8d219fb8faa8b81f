// The charts: which rows each chart shows, and where. A click selects a row.
const views = {};
const positions = {};  // by chart: the points of its rows, for the ring around the selected one

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
  : `the time excludes a conversion of ${timeText(rows[pair.id].conversion, pair.time)}`;
const RATIO_LINES = {
  algorithms: (pair) => [
    rows[pair.id].algorithm ? `algorithm ${rows[pair.id].algorithm}` : '',
    `default ${timeText(pair.other, pair.time)}, ${ratioText(pair.ratio)} × this time`, conversionLine(pair),
  ].filter(Boolean),
  caches: (pair) => [`cold ${timeText(pair.other, pair.time)}, ${ratioText(pair.ratio)} × hot`],
  against: (pair) => [
    `${pair.reference}: ${timeText(pair.other, pair.time)}, ${ratioText(pair.ratio)} × this time`,
    pair.doubt ? `excluded from means:  ${pair.doubt}` : '',
    pair.cold ? 'this row is cold, the published figure hot' : '', conversionLine(pair),
  ].filter(Boolean),
};

const PIXELS_FROM = 5000;  // with more rows, the charts are drawn as pixels instead of SVG
const DRAWING = {
  mode: 'vega', ast: true, actions: false, defaultStyle: false, logLevel: 1, tooltip: showTooltip,
  renderer: rows.length > PIXELS_FROM ? 'canvas' : 'svg',
};

const themeOfCharts = () => report.themes[document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light'];

// Draws a chart with clickable points in the page's theme. The old chart stays until the new one is
// complete, and `use` receives the new view before the swap, so that observers of `container` find
// it.
async function redrawn(container, spec, use) {
  const inner = element('div', {});
  let view;
  try {
    ({view} = await drawChart(inner, {...spec, config: themeOfCharts()}, DRAWING));
  } catch (error) {  // the other parts of the page do not depend on this chart
    container.replaceChildren(`This chart cannot be drawn: ${error.message}`);
    return;
  }
  view.addEventListener('click', (_, item) => {
    if (!item || !item.datum || item.datum.id === undefined) return;
    choose(item.datum.id);
    reveal();
  });
  use(view);
  container.replaceChildren(inner);
}

// The charts of models show passes, not rows, and no filter changes them.
const isOfModel = (name) => Object.hasOwn(report.models, name);
const chartsOfRows = () => Object.keys(views).filter((name) => name !== 'distribution' && !isOfModel(name));

async function buildChart(name) {
  const container = document.getElementById(`chart-${name}`);
  await redrawn(container, filled(name, container), (view) => {
    if (views[name]) views[name].finalize();
    views[name] = view;
  });
  if (isOfModel(name) || !views[name]) return;
  // The filters or the selection may have changed while the chart was drawn.
  if (name === 'distribution') showSamples(rows[chosenId]);
  else show(name, filteredRows());
}

// The chart with its initial data, so that Vega computes its layout only once.
function filled(name, container) {
  const spec = structuredClone(report.charts[name]);
  const put = (set, values) => putInto(spec, set, values);
  const setSignal = (signal, value) => Object.assign(spec.signals.find((one) => one.name === signal) || {}, {value});
  if (name === 'distribution') {
    const some = rows[chosenId];
    for (const [set, values] of Object.entries(sampleData(some))) put(set, values);
    for (const [signal, value] of Object.entries(samplesWidths(container))) setSignal(signal, value);
    return spec;
  }
  spec.width = container.clientWidth;
  setSignal('outer_width', container.clientWidth);
  if (isOfModel(name)) {
    const {data, colors} = report.models[name];
    for (const [set, members] of Object.entries(data)) put(set, members);
    const signals = {colors, colors_here: colors, label_width: labelWidth(colors)};
    for (const [signal, value] of Object.entries(signals)) setSignal(signal, value);
    return spec;
  }
  const values = valuesOf(name, rows);
  put('rows', values);
  put('corners', corners(name, values));
  put('chosen', ring(name, chosenId));
  put('ceilings', report.ceilings);
  put('limits', name === 'caches' ? report.limits : []);
  for (const [signal, value] of Object.entries(legends(name))) setSignal(signal, value);
  return spec;
}

// Charts follow the page's theme.
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
    const container = document.getElementById(`chart-${name}`);
    if (!container.clientWidth) continue;
    if (name === 'distribution') {
      for (const [signal, value] of Object.entries(samplesWidths(container))) view.signal(signal, value);
      view.runAsync();
    } else view.width(container.clientWidth).signal('outer_width', container.clientWidth).runAsync();
  }
  fitSweep();
}

// Two invisible points give logarithmic axes a minimum length.
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
  for (const name of chartsOfRows()) show(name, visibleRows);
  showSweep(visibleRows);
}

function show(name, visibleRows) {
  const values = valuesOf(name, visibleRows);
  const container = document.getElementById(`chart-${name}`);
  container.classList.toggle('none', values.length === 0);  // an empty chart has no axes
  if (values.length === 0) return;
  const view = views[name];
  for (const [signal, value] of Object.entries(legends(name))) view.signal(signal, value);
  if (name === 'roofline') view.data('ceilings', visibleCeilings(values));
  if (name !== 'roofline') view.data('corners', corners(name, values));
  view.data('rows', values).data('chosen', ring(name, chosenId)).runAsync();
}

// The ceilings of the visible rows' devices and arithmetic.
function visibleCeilings(values) {
  const visibleRows = values.map((value) => rows[value.id]);
  const deviceOf = (row) => row.device || report.files[row.run].device;
  const devices = new Set(visibleRows.map(deviceOf));
  const plottedPrecisions = new Set(visibleRows.map((row) =>
    `${deviceOf(row)} ${row.arithmetic || row.precision || 'arithmetic'}`));
  return report.ceilings.filter((line) => line.kind === 'memory' ? devices.has(line.device)
    : plottedPrecisions.has(`${line.device} ${line.precision}`));
}

function valuesOf(name, visibleRows) {
  const values = POINTS[name] ? points(name, visibleRows) : ratios(name, visibleRows);
  positions[name] = new Map(values.map((value) => [value.id, value]));
  return values;
}

// Colors and shapes mean the same in every chart, whatever the filters are. A legend lists only
// entries that its chart can show.
function legends(name) {
  const members = POINTS[name] ? rows.filter(POINTS[name]) : report.pairs[name].map((pair) => rows[pair.id]);
  const plotted = name === 'bandwidth' ? members : rows.filter((row) => row.good && row.flops);
  const references = referencesOf(name);
  const colors = (some) => references.length > 1 ? references : unique(some.map((row) => colorOf(name, row)));
  const here = new Set(members.map((row) => row.regime));
  return {
    colors: colors(plotted), colors_here: colors(members),
    regimes: report.regimes, regimes_here: report.regimes.filter((regime) => here.has(regime)),
    label_width: labelWidth([...colors(members), ...here]),
  };
}

// The width in pixels of a legend column with its symbol, the same as in charts.py.
const labelWidth = (labels) => 40 + Math.min(300, 7 * Math.max(0, ...labels.map((label) => label.length)));

// If a chart shows several references, colors distinguish these.
const referencesOf = (name) => name === 'against' ? unique(report.pairs.against.map((pair) => pair.reference)) : [];

// Operations that only move bytes may lack a precision, so their kind determines the color.
const colorOf = (name, row) => (name === 'bandwidth' && row.kind) || (row[filters.color] ?? 'none');
const marking = (name, row) => ({id: row.id, color: colorOf(name, row), regime: row.regime});

function points(name, visibleRows) {
  return visibleRows.flatMap((row) => {
    const position = POINTS[name](row);
    return position ? [{...position, ...marking(name, row)}] : [];
  });
}

function ratios(name, visibleRows) {
  const among = new Set(visibleRows.map((row) => row.id));
  const several = referencesOf(name).length > 1;
  return report.pairs[name].filter((pair) => among.has(pair.id)).map((pair) => ({
    x: RATIO_X[name](pair), y: pair.ratio, low: pair.low, high: pair.high, doubt: Boolean(pair.doubt),
    lines: RATIO_LINES[name](pair), ...marking(name, rows[pair.id]),
    ...(several ? {color: pair.reference} : {}),
  }));
}

// Draws a ring around the row in every chart that shows it.
function ringAround(id) {
  for (const name of chartsOfRows()) views[name].data('chosen', ring(name, id)).runAsync();
  ringSweep(id);
}

function ring(name, id) {
  const position = positions[name].get(id);
  return position ? [{x: position.x, y: position.y}] : [];
}
