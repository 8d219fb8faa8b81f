// The report's data: rows by number, with every text and figure of the page's JSON, and numbers as
// people read them, to the digits that the tables of the command line have.
const report = JSON.parse(document.getElementById('data').textContent);
const rows = Array.from({length: report.count}, (_, id) => decoded(id));

function decoded(id) {
  const row = {id, samples: report.samples[id]};
  for (const [name, {values, index}] of Object.entries(report.texts)) {
    row[name] = index[id] < 0 ? null : values[index[id]];
  }
  for (const [name, values] of Object.entries(report.numbers)) row[name] = values[id];
  row.file = report.files[row.run].letter;
  row.good = row.good === 1;
  row.words = [row.problem, row.application, row.library, row.algorithm, row.regime, row.status,
    row.remarks, row.notes].join(' ').toLowerCase();
  return row;
}

function digits(value, ...steps) {
  if (value === null || value === undefined) return '-';
  const step = steps.find(([limit]) => Math.abs(value) < limit);
  return value.toFixed(step ? step[1] : 1);
}
const microseconds = (ns) => digits(ns === null ? null : ns / 1e3, [100, 3], [10000, 2]);
const rate = (value) => digits(value, [10, 4], [100, 3], [1000, 2]);
const percent = (share) => (share === null || share === undefined ? '-' : (100 * share).toFixed(1));
const ratioText = (value) => (value < 0.1 ? Number(value.toPrecision(3)).toString()
  : value < 10 ? value.toFixed(3) : Number(value.toPrecision(4)).toString());

// An element with children; texts become text, never markup.
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const unique = (values) => [...new Set(values)].filter((value) => value !== null)
  .sort((a, b) => String(a).localeCompare(String(b), 'en', {numeric: true}));
