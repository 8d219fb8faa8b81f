// Numbers as people read them, to the digits that the tables of the command line have: fields.py
// writes the same, and a test holds the one against the other. Nothing here needs a page.
function digits(value, ...steps) {
  if (value === null || value === undefined) return '-';
  const step = steps.find(([limit]) => Math.abs(value) < limit);
  return fixed(value, step ? step[1] : 1);
}
// What lies halfway goes to the even digit.
function fixed(value, places) {
  const long = value.toFixed(places + 30);
  const cut = long.slice(0, -30).replace(/\.$/, '');
  return long.endsWith(`5${'0'.repeat(29)}`) && /[02468]$/.test(cut) ? cut : value.toFixed(places);
}
// With two digits of the exponent: 5.24e-05.
const exponential = (value, places) => value.toExponential(places).replace(/e([-+])(\d)$/, 'e$10$2');
const percent = (part) => (part === null || part === undefined ? '-' : fixed(100 * part, 1));

const TIME_UNITS = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];  // in nanoseconds

// A time with its unit: in that of `like`, the time of the same row, where that leaves digits to read.
function timeText(ns, like = null) {
  if (ns === null || ns === undefined) return '-';
  let [unit, size] = unitOf(ns);
  if (like !== null) {
    const [shared, sharedSize] = unitOf(like);
    if (ns / sharedSize >= 0.01 && ns / sharedSize < 1e5) [unit, size] = [shared, sharedSize];
  }
  return `${fourDigits(ns / size)} ${unit}`;
}

function unitOf(ns) {
  const shown = Math.abs(Number(ns.toPrecision(4)));
  return TIME_UNITS.find(([, size]) => shown >= size) || TIME_UNITS[TIME_UNITS.length - 1];
}

function fourDigits(value) {
  const shown = Number(value.toPrecision(4));
  const size = Math.abs(shown);
  if (shown && !(size >= 1e-4 && size < 1e15)) return exponential(value, 3);
  const exponent = Number(shown.toExponential().split('e')[1]);
  return fixed(value, Math.min(Math.max(3 - exponent, 0), 4));
}

// Two times of one row: '99.80 to 100.2 µs'.
function timesText(first, second, like, joint = ' to ') {
  const [one, other] = [timeText(first, like), timeText(second, like)];
  const [[number, unit], [, otherUnit]] = [one.split(' '), other.split(' ')];
  return `${unit === otherUnit ? number : one}${joint}${other}`;
}

// The unit of a rate of arithmetic in this precision.
const workUnit = (precision) => (String(precision).startsWith('int') ? 'TOP/s' : 'TFLOP/s');

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
