// Formats numbers as the command line's tables do: fields.py and wording.py implement the same
// rules, and one table of values tests both. Nothing here needs a page.
function digits(value, ...steps) {
  if (value === null || value === undefined) return '-';
  const step = steps.find(([limit]) => Math.abs(value) < limit);
  return fixed(value, step ? step[1] : 1);
}

// JavaScript rounds ties away from zero, Python to even. These functions format with 30 further
// digits to detect a tie, and keep an even last digit.
const EXTRA = 30;
const isTie = (extra) => extra === `5${'0'.repeat(EXTRA - 1)}`;

function fixed(value, places) {
  const long = value.toFixed(places + EXTRA);
  const cut = long.slice(0, -EXTRA).replace(/\.$/, '');
  return isTie(long.slice(-EXTRA)) && /[02468]$/.test(cut) ? cut : value.toFixed(places);
}

// With a two-digit exponent: 5.24e-05.
function exponential(value, places) {
  const [mantissa, exponent] = value.toExponential(places + EXTRA).split('e');
  const cut = mantissa.slice(0, -EXTRA).replace(/\.$/, '');
  const isEven = isTie(mantissa.slice(-EXTRA)) && /[02468]$/.test(cut);
  const text = isEven ? `${cut}e${exponent}` : value.toExponential(places);
  return text.replace(/e([-+])(\d)$/, 'e$10$2');
}

// Significant digits without trailing zeros, as Python's format `g`: 0.0001, 1e-05, 12.5, 1.235e+04.
function general(value, count) {
  const rounded = exponential(value, count - 1);
  const exponent = Number(rounded.split('e')[1]);
  const inPlace = exponent >= -4 && exponent < count;
  const text = inPlace ? fixed(value, count - 1 - exponent) : rounded;
  return text.replace(/(\.\d*?)0+($|e)/, '$1$2').replace(/\.($|e)/, '$1');
}

const percent = (part) => (part === null || part === undefined ? '-' : fixed(100 * part, 1));

const TIME_UNITS = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];  // in nanoseconds

// A time with its unit. With `like`, the time of the same row, it uses the unit of that time if
// enough digits remain.
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
  const shown = Math.abs(Number(general(ns, 4)));
  return TIME_UNITS.find(([, size]) => shown >= size) || TIME_UNITS[TIME_UNITS.length - 1];
}

function fourDigits(value) {
  const shown = Number(general(value, 4));
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

// The unit of an arithmetic rate in this precision.
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

function ratioText(value) {
  if (value < 0.1) return general(value, 3);
  return value < 10 ? fixed(value, 3) : general(value, 4);
}
