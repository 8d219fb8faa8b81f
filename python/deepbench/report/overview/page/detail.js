// The selected row: its samples in the order of measurement, their distribution, and other facts.
let chosenId = null;
const LEVELS = new Map([
  ['llc', 'the last-level cache'], ['l1', 'the L1 cache'], ['l2', 'the L2 cache'], ['memory', 'memory'],
]);

function choose(id) {
  chosenId = id;
  const row = rows[id];
  document.getElementById('chosen-title').textContent = row.problem;
  const facts = document.getElementById('facts');
  facts.replaceChildren(...factsOf(row).map(([name, text]) =>
    element('tr', {}, element('td', {textContent: name}), element('td', {textContent: text}))));
  document.getElementById('samples-note').textContent = samplesNote(row);
  for (const line of document.querySelectorAll('#table tbody tr')) {
    line.classList.toggle('chosen', Number(line.dataset.id) === id);
  }
  ringAround(id);
  showSamples(row);
}

// Scrolls to the panel of the row, and shows a button that scrolls back.
function reveal() {
  const panel = document.getElementById('row');
  const box = panel.getBoundingClientRect();
  if (box.top > 0 && box.top < innerHeight - 220) return;
  const back = document.getElementById('back');
  const position = scrollY;
  back.hidden = false;
  back.onclick = () => {
    back.hidden = true;
    scrollTo(0, position);
  };
  panel.scrollIntoView();
}

function showSamples(row) {
  const view = views.distribution;
  if (!view) return;
  document.getElementById('chart-distribution').hidden = row.samples.length === 0;
  if (row.samples.length === 0) return;
  for (const [set, values] of Object.entries(sampleData(row))) view.data(set, values);
  view.resize().runAsync();  // labels may be wider
}

// The widths of the plot of samples and of the plot of their distribution.
function samplesWidths(container) {
  const histogram = container.clientWidth < 420 ? 60 : 120;
  return {concat_0_width: Math.max(110, Math.min(430, container.clientWidth - histogram - 95)), concat_1_width: histogram};
}

// Outliers appear as markers at the edge of the scale, which would otherwise be too wide.
const outliersOf = (row) => report.outliers[row.id] || {low: -Infinity, high: Infinity, texts: []};

function sampleData(row) {
  const {low, high, texts} = outliersOf(row);
  const shows = ({y}) => low <= y && y <= high;
  const all = row.samples.map((y, index) => ({x: index + 1, y, tip: `sample ${index + 1}: ${timeText(1e3 * y, row.time)}`}));
  return {
    samples: all.filter(shows),
    outside: all.filter((one) => !shows(one)).map(({x, y, tip}) => ({x, tip, above: y > high})),
    outside_count: texts.toReversed().map((label, place) => ({label, place})),
    marks: marksOf(row).filter(shows),
  };
}

function marksOf(row) {
  if (row.time === null) return [];
  const limits = [row.low, row.high].filter((ns) => ns !== null);
  return [{y: row.time / 1e3, main: true, label: 'median'},
    ...limits.map((ns) => ({y: ns / 1e3, main: false}))];
}

function samplesNote(row) {
  if (!row.samples.length) return 'The file has no samples of this row.';
  const batch = row.batch > 1 ? `, each the mean of ${row.batch} consecutive calls` : '';
  const some = row.n !== null && row.n > row.samples.length
    ? `${row.samples.length} of ${row.n} samples, evenly spaced` : `${row.samples.length} samples`;
  const {texts} = outliersOf(row);
  const outside = texts.length ? ` Triangles at the edge: ${texts.join(', ')}.` : '';
  return `${some}${batch}. Solid line: median; dashed: its 95 % interval.${outside} The figures cover all samples.`;
}

function factsOf(row) {
  const time = (ns) => (ns === null ? null : timeText(ns, row.time));
  const times = (first, second, joint) => (first === null ? null : timesText(first, second, row.time, joint));
  const facts = [
    ['status', row.status === 'ok' ? 'ok' : `${row.status.replaceAll('_', ' ')}: ${row.reason || 'no reason given'}`],
    ['application', row.application], ['calls of its applications', row.calls], ['device', row.device],
    ['library', row.library], ['algorithm', row.algorithm], ['regime', row.regime],
    ['launch, timer', [row.launch, row.timer].filter(Boolean).join(', ')],
    [row.regime === 'published' ? 'time (published mean)' : 'median', time(row.time)],
    ['95 % of the median', times(row.low, row.high)],
    ['quartiles', times(row.q1, row.q3, ', ')],
    ['minimum, maximum', times(row.min, row.max, ', ')],
    ['p99', time(row.p99)], ['mean', row.regime === 'published' ? null : time(row.mean)],
    ['first call', time(row.first)], ['host time per call', time(row.host)],
    ['default algorithm', row.mode === 'default' ? null : time(row.default)],
    ['conversion (not in the time)', time(row.conversion)],
    ['stopped', row.stop && row.stop.replaceAll('_', ' ')],
    ['rate', row.tflops !== null ? `${rate(row.tflops)} ${workUnit(row.precision)}` : null],
    ['bandwidth', row.gbps !== null ? `${rate(row.gbps)} GB/s` : null],
    ['roofline', row.roofline === null ? null
      : `${share(row.roofline)} %, bound by ${row.bound}${row.level ? `, data in ${LEVELS.get(row.level) || row.level}` : ''}`],
    ['verification', row.verified && `${row.verified}${row.worst === null || row.verified === 'skipped' ? '' : `, worst error ${percent(row.worst)} % of its bound`}`],
    ['observed', row.observed],
    ['file', `${row.file}: ${report.files[row.run].name}, row ${row.position}`],
    ['remarks', row.remarks], ['notes', row.notes],
  ];
  return facts.filter(([, text]) => text !== null && text !== undefined && text !== '');
}
