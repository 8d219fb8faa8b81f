// Numbers as people read them, to the digits that the tables of the command line have: fields.py
// writes the same, and a test holds the one against the other. Nothing here needs a page.
function digits(value, ...steps) {
  if (value === null || value === undefined) return '-';
  const step = steps.find(([limit]) => Math.abs(value) < limit);
  return value.toFixed(step ? step[1] : 1);
}
// With two digits of the exponent: 5.24e-05.
const exponential = (value, places) => value.toExponential(places).replace(/e([-+])(\d)$/, 'e$10$2');
const microseconds = (ns) => digits(ns === null ? null : ns / 1e3, [100, 3], [10000, 2]);
const percent = (part) => (part === null || part === undefined ? '-' : (100 * part).toFixed(1));

function rate(value) {
  const size = Math.abs(value ?? 0);
  if (size > 0 && size < 0.001) return exponential(value, 2);
  return digits(value, [0.00995, 5], [10, 4], [100, 3], [1000, 2]);
}

function share(part) {
  if (!part) return percent(part);
  if (Math.abs(100 * part) < 0.0001) return exponential(100 * part, 1);
  return digits(100 * part, [0.001, 5], [0.01, 4], [0.1, 3], [1, 2]);
}

const ratioText = (value) => (value < 0.1 ? Number(value.toPrecision(3)).toString()
  : value < 10 ? value.toFixed(3) : Number(value.toPrecision(4)).toString());
