// Vega keeps groups in plain objects, in which a name '__proto__' would be none.
delete Object.prototype.__proto__;

// The report's data: rows by number, decoded from the page's JSON.
const report = JSON.parse(document.getElementById('data').textContent);
const rows = Array.from({length: report.count}, (_, id) => decoded(id));

function decoded(id) {
  const row = {id, samples: report.samples[id]};
  for (const [name, {values, index}] of Object.entries(report.texts)) {
    row[name] = index[id] < 0 ? null : values[index[id]];
  }
  for (const [name, values] of Object.entries(report.numbers)) row[name] = values[id];
  for (const [name, {values, index}] of Object.entries(report.colorable)) {
    // No other field's name ends like this.
    row[`${name}=`] = index[id] < 0 ? null : values[index[id]];
  }
  row.file = report.files[row.run].letter;
  row.good = row.good === 1;
  row.words = [row.problem, row.application, row.library, row.algorithm, row.regime, row.status,
    row.remarks, row.notes].join(' ').toLowerCase();
  return row;
}

// Creates an element with children. Texts are never interpreted as markup.
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const unique = (values) => [...new Set(values)].filter((value) => value !== null)
  .sort((a, b) => String(a).localeCompare(String(b), 'en', {numeric: true}));
