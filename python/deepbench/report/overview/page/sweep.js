// A chart of the metric against the attribute that were chosen: series as series.py forms them, of the
// rows that pass the filters.
const sweeping = {view: null, points: new Map(), metric: null, attribute: null, next: null, busy: null};
const MOST_LINES = 8;
const MOST_COLOURS = 12;  // that the theme has
const MOST_TICKS = 12;
const DECADE = 10;  // a logarithmic axis from this ratio on
const APART = 1.5;  // values of a sweep that are ticks of their own

const METRICS = {
  time: (row) => row.time / 1e3,
  tflops: (row) => row.tflops,
  gbps: (row) => row.gbps,
  share_arithmetic: (row) => row.ceiling === null ? null : 100 * row.ceiling,
  share_roofline: (row) => row.roofline === null ? null : 100 * row.roofline,
};

async function buildSweep() {
  if (!report.sweep) return;
  const {metrics, attributes, metric, attribute} = report.sweep;
  sweeping.metric = metrics.find((one) => one.name === metric);
  sweeping.attribute = attributes.find((one) => one.name === attribute);
  document.getElementById('sweep-choice').append(
    choice('metric', metrics), ' against ', choice('attribute', attributes));
  const fold = document.getElementById('sweep-fold');
  if (fold) fold.addEventListener('toggle', () => showSweep(visible()));
  await showSweep(visible());
}

function choice(what, members) {
  const select = element('select', {ariaLabel: what},
    ...members.map((one) => element('option', {value: one.name, selected: one === sweeping[what]}, one.name)));
  select.id = `sweep-${what}`;
  select.addEventListener('change', () => {
    sweeping[what] = members.find((one) => one.name === select.value);
    showSweep(visible());
  });
  return select;
}

// Every choice and filter may change what kind of axes fit, so that the chart is made anew: one after
// the other, and of several that wait the last.
async function showSweep(shown) {
  const fold = document.getElementById('sweep-fold');
  if (!report.sweep || !sweeping.metric || (fold && !fold.open)) return;
  sweeping.next = shown;
  sweeping.busy ??= drawLatest();
  await sweeping.busy;
}

async function drawLatest() {
  while (sweeping.next) {
    const shown = sweeping.next;
    sweeping.next = null;
    await drawSweep(shown);
  }
  sweeping.busy = null;
}

async function drawSweep(shown) {
  const place = document.getElementById('chart-sweep');
  const points = sweepPoints(shown, sweeping.metric, sweeping.attribute);
  sweeping.points = new Map(points.map((point) => [point.id, point]));
  document.getElementById('sweep-note').textContent = fixedText(points);
  place.classList.toggle('none', points.length === 0);
  if (points.length === 0) return;
  await redrawn(place, sweepSpec(points, place.clientWidth), (view) => {
    if (sweeping.view) sweeping.view.finalize();
    sweeping.view = view;
  });
}

function fitSweep() {
  if (sweeping.view) showSweep(visible());
}

function ringSweep(id) {
  if (sweeping.view) sweeping.view.data('chosen', sweepRing(id)).runAsync();
}

function sweepRing(id) {
  const point = sweeping.points.get(id);
  return point ? [{x: point.x, y: point.y}] : [];
}

function sweepSpec(points, width) {
  const {charts, axes} = report.sweep;
  const xs = points.map((point) => point.x);
  const heights = points.flatMap((point) => [point.low, point.y, point.high]).filter((y) => y !== null);
  const ticks = ticksOf(xs);
  const x = ticks ? 'log' : scaleOf(xs);
  const spec = structuredClone(x === 'point' ? charts.words : charts.numbers);
  const parts = structuredClone({x: axes.x[ticks ? 'ticks' : x], y: axes.y[scaleOf(heights)]});
  const colour = spec.scales.find((one) => one.name === 'color');
  colour.domain = [...new Set(points.map((point) => point.series))];
  spec.scales = [parts.x.scale, parts.y.scale, colour];
  spec.axes = [...parts.x.axes, ...parts.y.axes];
  for (const axis of spec.axes) {
    if (axis.scale === 'x' && ticks) axis.values = ticks;
    if (axis.title) axis.title = sweeping[axis.scale === 'x' ? 'attribute' : 'metric'].title;
  }
  spec.width = width;
  const signals = {outer_width: width, label_width: labelWidth(colour.domain)};
  for (const one of spec.signals) if (one.name in signals) one.value = signals[one.name];
  putInto(spec, 'rows', points);
  const [left, right] = x === 'point' ? [] : endsOf(xs);
  const [bottom, top] = endsOf(heights);
  putInto(spec, 'corners', x === 'point' ? [] : [{x: left, y: bottom}, {x: right, y: top}]);
  putInto(spec, 'chosen', sweepRing(chosenId));
  return spec;
}

function scaleOf(values) {
  if (values.some((value) => typeof value !== 'number')) return 'point';
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  return low > 0 && high >= DECADE * low ? 'log' : 'linear';
}

function ticksOf(values) {
  if (values.some((value) => typeof value !== 'number' || value <= 0)) return null;
  const known = [...new Set(values)].sort((a, b) => a - b);
  const few = known.length >= 3 && known.length <= MOST_TICKS;
  return few && known.every((value, place) => place === 0 || value >= APART * known[place - 1]) ? known : null;
}

// ---- points and series -------------------------------------------------------------------------

function attributeOf(row, name) {
  const {values, index} = report.sweep.values[name];
  const place = index === null ? 0 : index[row.id];
  return place < 0 ? null : values[place];
}

const valueText = (value) => value === null ? 'none'
  : typeof value === 'number' && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);

function sweepPoints(shown, metric, attribute) {
  const height = Object.hasOwn(METRICS, metric.name) ? METRICS[metric.name]
    : (row) => report.sweep.heights[metric.name][row.id];
  const found = shown.filter((row) => row.good).map((row) => ({
    row, x: attributeOf(row, attribute.name), y: height(row),
  })).filter(({x, y}) => x !== null && y !== null);
  const {labels, joined} = seriesOf(found, attribute);
  return found.map(({row, x, y}, place) => ({
    id: row.id, x: attribute.is_number ? x : valueText(x), y, ...intervalOf(row, metric, y),
    series: labels[place], joined, hollow: row.verified === 'skipped',
    lines: [metricLine(row, metric, y)],
  }));
}

function metricLine(row, metric, y) {
  if (metric.name === 'time') return `time of a call: ${timeText(row.time)}`;
  const title = metric.name === 'tflops' ? workUnit(row.precision) : metric.title;
  return `${title}: ${Number(y.toPrecision(5))}`;
}

// The 95 % interval of the median, in the metric's unit.
function intervalOf(row, metric, y) {
  if (metric.falls === null || row.low === null || row.high === null) return {low: null, high: null};
  return metric.falls ? {low: y * row.time / row.high, high: y * row.time / row.low}
    : {low: y * row.low / row.time, high: y * row.high / row.time};
}

function seriesOf(found, attribute) {
  const keys = found.map(({row}) => keysOf(row));
  const count = (...names) => new Set(keys.map((one) => names.map((name) => one[name]).join('\n'))).size;
  let names = Object.keys(keys[0] || {})
    .filter((name) => count(name) > 1 && name !== `${attribute.name}=`);
  if (names.includes('file') && count('file', 'library') === count('file')) {
    names = names.filter((name) => name !== 'library');
  }
  if (attribute.is_number) names = withoutWhatGoesAlong(found, keys, names);
  const labels = keys.map((one) => labelOf(one, names));
  if (new Set(labels).size <= MOST_LINES) {
    return {labels: labels.map((label) => label || found[0].row.family), joined: attribute.is_number};
  }
  const fewest = names.includes('file') ? 'file' : names.reduce((a, b) => count(b) < count(a) ? b : a);
  const telling = fewest === 'file' || count(fewest) <= MOST_COLOURS ? [fewest] : [];
  return {labels: keys.map((one) => labelOf(one, telling) || 'all rows'), joined: false};
}

function keysOf(row) {
  const keys = {
    file: `${row.file} ${report.files[row.run].name}`, op: row.op, device: row.device ?? 'none',
    library: row.library ?? 'none', regime: row.regime,
  };
  for (const name of report.sweep.own) keys[`${name}=`] = valueText(ownAttribute(row, name));
  return keys;
}

// An attribute of the problem itself; bytes and FLOPs of a call are none.
const isDerived = (row, name) => Object.hasOwn(report.sweep.derived, name)
  && report.sweep.derived[name].includes(row.op);
const ownAttribute = (row, name) => isDerived(row, name) ? null : attributeOf(row, name);

const labelOf = (keys, names) => names
  .map((name) => name.endsWith('=') ? `${name}${keys[name]}` : keys[name]).join(', ');

// Attributes that grow or fall with the one that is plotted tell nothing apart.
function withoutWhatGoesAlong(found, keys, names) {
  const numbers = new Set(names.filter((name) => name.endsWith('=')
    && found.every(({row}) => typeof ownAttribute(row, name.slice(0, -1)) === 'number')));
  const groups = keys.map((one) => names.filter((name) => !numbers.has(name)).map((name) => one[name]).join('\n'));
  return names.filter((name) => !numbers.has(name) || !goesAlong(found, name.slice(0, -1), groups));
}

function goesAlong(found, name, groups) {
  const pairs = new Map();
  found.forEach(({row, x}, place) => {
    const group = pairs.get(groups[place]) || new Map();
    const pair = [x, ownAttribute(row, name)];
    pairs.set(groups[place], group.set(pair.join(' '), pair));
  });
  return [...pairs.values()].every((group) => {
    const sorted = [...group.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const steps = sorted.slice(1).map(([x, y], place) => [x - sorted[place][0], y - sorted[place][1]]);
    return steps.every(([dx, dy]) => dx > 0 && dy > 0) || steps.every(([dx, dy]) => dx > 0 && dy < 0);
  });
}

// What all points have in common.
function fixedText(points) {
  const shown = points.map((point) => rows[point.id]);
  const common = (of) => {
    const values = unique(shown.map(of));
    return values.length === 1 && shown.every((row) => of(row) !== null) ? values[0] : null;
  };
  const fixed = report.sweep.own.filter((name) => name !== sweeping.attribute.name)
    .map((name) => [name, common((row) => ownAttribute(row, name))]).filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${valueText(value)}`);
  const problem = [common((row) => row.op), ...fixed].filter(Boolean).join(' ');
  const hollow = points.filter((point) => point.hollow).length;
  return [problem, common((row) => row.regime), common((row) => row.library),
    hollow ? `${hollow} of ${points.length} rows were not verified` : ''].filter(Boolean).join(' · ');
}
