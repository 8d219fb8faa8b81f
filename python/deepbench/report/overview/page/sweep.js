// A chart of the selected metric against the selected attribute, for the rows that pass the
// filters. series.py forms the same series.
const sweepState = {view: null, points: new Map(), metric: null, attribute: null, next: null, busy: null};
const MOST_LINES = 8;
const MOST_COLORS = 12;  // colors of the theme
const MOST_TICKS = 12;
const DECADE = 10;  // smallest ratio of largest to smallest value for a logarithmic axis
const MIN_TICK_RATIO = 1.5;  // between adjacent values that serve as ticks

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
  sweepState.metric = metrics.find((one) => one.name === metric);
  sweepState.attribute = attributes.find((one) => one.name === attribute);
  document.getElementById('sweep-choice').append(
    choice('metric', metrics), ' against ', choice('attribute', attributes));
  const fold = document.getElementById('sweep-fold');
  if (fold) fold.addEventListener('toggle', () => showSweep(filteredRows()));
  await showSweep(filteredRows());
}

function choice(what, members) {
  const select = element('select', {ariaLabel: what},
    ...members.map((one) => element('option', {value: one.name, selected: one === sweepState[what]}, one.name)));
  select.id = `sweep-${what}`;
  select.addEventListener('change', () => {
    sweepState[what] = members.find((one) => one.name === select.value);
    showSweep(filteredRows());
  });
  return select;
}

// Every selection and filter may change the kind of the axes, so the chart is drawn anew. Drawings
// run one at a time, and only the latest of several requests is drawn.
async function showSweep(visibleRows) {
  const fold = document.getElementById('sweep-fold');
  if (!report.sweep || !sweepState.metric || (fold && !fold.open)) return;
  sweepState.next = visibleRows;
  sweepState.busy ??= drawLatest();
  await sweepState.busy;
}

async function drawLatest() {
  while (sweepState.next) {
    const visibleRows = sweepState.next;
    sweepState.next = null;
    await drawSweep(visibleRows);
  }
  sweepState.busy = null;
}

async function drawSweep(visibleRows) {
  const container = document.getElementById('chart-sweep');
  const points = sweepPoints(visibleRows, sweepState.metric, sweepState.attribute);
  sweepState.points = new Map(points.map((point) => [point.id, point]));
  document.getElementById('sweep-note').textContent = fixedText(points);
  container.classList.toggle('none', points.length === 0);
  if (points.length === 0) return;
  await redrawn(container, sweepSpec(points, container.clientWidth), (view) => {
    if (sweepState.view) sweepState.view.finalize();
    sweepState.view = view;
  });
}

function fitSweep() {
  if (sweepState.view) showSweep(filteredRows());
}

function ringSweep(id) {
  if (sweepState.view) sweepState.view.data('chosen', sweepRing(id)).runAsync();
}

function sweepRing(id) {
  const point = sweepState.points.get(id);
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
  const color = spec.scales.find((one) => one.name === 'color');
  color.domain = [...new Set(points.map((point) => point.series))];
  spec.scales = [parts.x.scale, parts.y.scale, color];
  spec.axes = [...parts.x.axes, ...parts.y.axes];
  for (const axis of spec.axes) {
    if (axis.scale === 'x' && ticks) axis.values = ticks;
  }
  spec.width = width;
  const signals = {
    outer_width: width, label_width: labelWidth(color.domain),
    x_title: sweepState.attribute.title, y_title: sweepState.metric.title,
  };
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
  const distinct = [...new Set(values)].sort((a, b) => a - b);
  const few = distinct.length >= 3 && distinct.length <= MOST_TICKS;
  return few && distinct.every((value, i) => i === 0 || value >= MIN_TICK_RATIO * distinct[i - 1]) ? distinct : null;
}

// ---- points and series -------------------------------------------------------------------------

function attributeOf(row, name) {
  const {values, index} = report.sweep.values[name];
  const number = index === null ? 0 : index[row.id];
  return number < 0 ? null : values[number];
}

const valueText = (value) => value === null ? 'none'
  : typeof value === 'number' && !Number.isInteger(value) ? general(value, 6) : String(value);

function sweepPoints(visibleRows, metric, attribute) {
  const height = Object.hasOwn(METRICS, metric.name) ? METRICS[metric.name]
    : (row) => report.sweep.heights[metric.name][row.id];
  const found = visibleRows.filter((row) => row.good).map((row) => ({
    row, x: attributeOf(row, attribute.name), y: height(row),
  })).filter(({x, y}) => x !== null && y !== null);
  const {labels, joined} = seriesOf(found, attribute);
  return found.map(({row, x, y}, i) => ({
    id: row.id, x: attribute.is_number ? x : valueText(x), y, ...intervalOf(row, metric, y),
    series: labels[i], joined, hollow: row.verified === 'skipped',
    lines: [metricLine(row, metric, y)],
  }));
}

function metricLine(row, metric, y) {
  if (metric.name === 'time') return `time of a call: ${timeText(row.time)}`;
  const title = metric.name === 'tflops' ? workUnit(row.precision) : metric.title;
  return `${title}: ${general(y, 5)}`;
}

// The 95 % interval of the median, in the metric's unit.
function intervalOf(row, metric, y) {
  if (metric.inverse_of_time === null || row.low === null || row.high === null) return {low: null, high: null};
  return metric.inverse_of_time ? {low: y * row.time / row.high, high: y * row.time / row.low}
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
  if (attribute.is_number) names = withoutCovarying(found, keys, names);
  const labels = keys.map((one) => labelOf(one, names));
  if (new Set(labels).size <= MOST_LINES) {
    return {labels: labels.map((label) => label || found[0].row.family), joined: attribute.is_number};
  }
  const fewest = names.includes('file') ? 'file' : names.reduce((a, b) => count(b) < count(a) ? b : a);
  const distinctive = fewest === 'file' || count(fewest) <= MOST_COLORS ? [fewest] : [];
  return {labels: keys.map((one) => labelOf(one, distinctive) || 'all rows'), joined: false};
}

function keysOf(row) {
  const keys = {
    file: `${row.file} ${report.files[row.run].name}`, op: row.op, device: row.device ?? 'none',
    library: row.library ?? 'none', regime: row.regime,
  };
  for (const name of report.sweep.problem_attributes) keys[`${name}=`] = valueText(problemAttribute(row, name));
  return keys;
}

// Bytes and FLOPs of a call are not attributes of the problem, unless the operation defines them.
const isDerived = (row, name) => Object.hasOwn(report.sweep.derived, name)
  && report.sweep.derived[name].includes(row.op);
const problemAttribute = (row, name) => isDerived(row, name) ? null : attributeOf(row, name);

const labelOf = (keys, names) => names
  .map((name) => name.endsWith('=') ? `${name}${keys[name]}` : keys[name]).join(', ');

// Drops attributes that increase or decrease monotonically with the plotted one, since they
// distinguish nothing.
function withoutCovarying(found, keys, names) {
  const numbers = new Set(names.filter((name) => name.endsWith('=')
    && found.every(({row}) => typeof problemAttribute(row, name.slice(0, -1)) === 'number')));
  const groups = keys.map((one) => names.filter((name) => !numbers.has(name)).map((name) => one[name]).join('\n'));
  return names.filter((name) => !numbers.has(name) || !covaries(found, name.slice(0, -1), groups));
}

function covaries(found, name, groups) {
  const pairs = new Map();
  found.forEach(({row, x}, i) => {
    const group = pairs.get(groups[i]) || new Map();
    const pair = [x, problemAttribute(row, name)];
    pairs.set(groups[i], group.set(pair.join(' '), pair));
  });
  return [...pairs.values()].every((group) => {
    const sorted = [...group.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const steps = sorted.slice(1).map(([x, y], i) => [x - sorted[i][0], y - sorted[i][1]]);
    return steps.every(([dx, dy]) => dx > 0 && dy > 0) || steps.every(([dx, dy]) => dx > 0 && dy < 0);
  });
}

// What all points have in common.
function fixedText(points) {
  const visibleRows = points.map((point) => rows[point.id]);
  const common = (of) => {
    const values = unique(visibleRows.map(of));
    return values.length === 1 && visibleRows.every((row) => of(row) !== null) ? values[0] : null;
  };
  const fixed = report.sweep.problem_attributes.filter((name) => name !== sweepState.attribute.name)
    .map((name) => [name, common((row) => problemAttribute(row, name))]).filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${valueText(value)}`);
  const problem = [common((row) => row.op), ...fixed].filter(Boolean).join(' ');
  const hollow = points.filter((point) => point.hollow).length;
  return [problem, common((row) => row.regime), common((row) => row.library),
    hollow ? `${hollow} of ${points.length} rows were not verified` : ''].filter(Boolean).join(' · ');
}
