// The table of all rows. A click on a heading sorts it, the filters apply to it, and its lines are
// created as the reader scrolls. It scrolls in its box below fixed headings.
const STEP = 200;  // lines that are added at a time
const LONG = 32;  // a cell with more characters wraps
const VERIFIED = {passed: 'yes', failed: 'NO', skipped: 'skipped'};

// The unit of a rate is in the title, or in each cell if the rows have several units.
const workUnits = unique(rows.filter((row) => row.tflops !== null).map((row) => workUnit(row.precision)));
const WORK = workUnits.length > 1
  ? {title: 'rate', text: (value, row) => `${rate(value)} ${workUnit(row.precision)}`}
  : {title: workUnits[0] || workUnit(null), text: rate};

const COLUMNS = [
  ...(report.files.length > 1 ? [{title: 'file', of: (row) => row.file, left: true}] : []),
  {title: 'row', of: (row) => row.position, always: true},
  {title: 'problem', of: (row) => (table.full ? row.problem : row.brief), left: true, always: true},
  {title: 'regime', of: (row) => row.regime, left: true},
  {title: 'time', of: (row) => row.time, text: (ns) => timeText(ns), always: true},
  {title: '±%', of: (row) => row.spread, text: percent},
  {...WORK, of: (row) => row.tflops},
  {title: 'GB/s', of: (row) => row.gbps, text: rate},
  {title: '% ceiling', of: (row) => row.ceiling, text: share},
  {title: '% roofline', of: (row) => row.roofline, text: share},
  {title: 'bound by', of: (row) => row.bound, left: true},
  {title: 'verified', of: (row) => VERIFIED[row.verified] || '-', left: true},
  {title: 'remarks', of: (row) => row.remarks || null, left: true, always: rows.some((row) => row.remarks)},
  {title: 'application', of: (row) => row.application, left: true},
  {title: 'library', of: (row) => row.library, left: true},
];
// Text columns with the same value in every row, and empty columns. A line above the table states
// their values.
const hiddenColumns = COLUMNS.filter((column) => !column.always && sameEverywhere(column));

const table = {sorted: null, down: false, rows: [], built: 0, full: false};
const shownColumns = () => (table.full ? COLUMNS : COLUMNS.filter((one) => !hiddenColumns.includes(one)));

function sameEverywhere(column) {
  if (rows.length < 2) return false;
  const first = column.of(rows[0]);
  return (column.left || first === null) && rows.every((row) => column.of(row) === first);
}

function buildTable() {
  buildHead();
  const body = document.querySelector('#table tbody');
  const pick = (event) => {
    const line = event.target.closest('tr');
    if (!line) return;
    choose(Number(line.dataset.id));
    reveal();
  };
  body.addEventListener('click', pick);
  body.addEventListener('keydown', (event) => event.key === 'Enter' && pick(event));
  const more = document.getElementById('more');
  new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && addLines()).observe(more);
  buildSwitch();
}

function buildHead() {
  document.querySelector('#table thead').replaceChildren(element('tr', {}, ...shownColumns().map((column) => {
    const button = element('button', {type: 'button', textContent: column.title});
    const cell = element('th', {className: column.left ? 'words' : '', scope: 'col'}, button);
    cell.addEventListener('click', () => sortBy(column));
    cell.column = column;
    return cell;
  })));
  markSorted();
}

// Describes what the table hides because all rows share it, and adds the switch that shows it.
function buildSwitch() {
  const columns = hiddenColumns.filter((column) => ![null, '-', ''].includes(column.of(rows[0])));
  const same = [...report.shared, ...columns.map((column) => `${column.title}: ${column.of(rows[0])}`)];
  const brief = rows.some((row) => row.brief !== row.problem);
  if (!brief && hiddenColumns.length === 0) return;
  document.getElementById('same').textContent = [
    same.length ? `The same in every row: ${same.join('; ')}.` : '',
    report.hides_defaults ? 'Attributes with default values are hidden.' : '',
  ].filter(Boolean).join(' ');
  const box = document.getElementById('switch');
  box.hidden = false;
  box.querySelector('input').addEventListener('change', (event) => {
    table.full = event.target.checked;
    document.getElementById('same').hidden = table.full;
    buildHead();
    showTable(table.rows);
  });
}

function sortBy(column) {
  table.down = table.sorted === column ? !table.down : false;
  table.sorted = column;
  markSorted();
  showTable(table.rows);
}

function markSorted() {
  for (const cell of document.querySelectorAll('#table th')) {
    if (cell.column === table.sorted) cell.setAttribute('aria-sort', table.down ? 'descending' : 'ascending');
    else cell.removeAttribute('aria-sort');
  }
}

function showTable(visibleRows) {
  table.rows = table.sorted === null ? visibleRows : ordered(visibleRows, table.sorted.of, table.down);
  table.built = 0;
  document.querySelector('#table tbody').replaceChildren();
  document.getElementById('count').textContent = `${visibleRows.length} of ${rows.length} rows.`;
  addLines();
}

// Rows without a value come last in both directions.
function ordered(visibleRows, of, down) {
  const sign = down ? -1 : 1;
  return [...visibleRows].sort((a, b) => {
    const [left, right] = [of(a), of(b)];
    if (left === null || right === null) return (left === null) - (right === null);
    const order = typeof left === 'number' ? left - right
      : String(left).localeCompare(String(right), 'en', {numeric: true});
    return sign * order || a.id - b.id;
  });
}

function addLines() {
  const next = table.rows.slice(table.built, table.built + STEP);
  table.built += next.length;
  document.querySelector('#table tbody').append(...next.map(line));
  document.getElementById('more').textContent = table.built < table.rows.length
    ? `${table.rows.length - table.built} more rows follow as you scroll` : '';
}

function cellText(column, row) {
  const value = column.of(row);
  if (value === null || value === '') return column.left ? '' : '-';
  return column.text ? column.text(value, row) : String(value);
}

function line(row) {
  const made = element('tr', {}, ...shownColumns().map((column) => {
    const text = cellText(column, row);
    const kind = column.left ? (text.length > LONG ? 'words long' : 'words') : '';
    return element('td', {className: kind, textContent: text});
  }));
  made.dataset.id = row.id;
  made.tabIndex = 0;
  const bad = row.status !== 'ok' && row.status !== 'unsupported';
  made.classList.toggle('bad', bad);
  made.classList.toggle('chosen', row.id === chosenId);
  return made;
}
