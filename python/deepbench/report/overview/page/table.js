// The table of all rows: sorted by a click on a heading, filtered by the bar, built as far as it is
// looked at. It scrolls in a box of its own, under its headings.
const STEP = 200;  // lines that are added at a time
const LONG = 100;  // letters from which on a cell has several lines
const VERIFIED = {passed: 'yes', failed: 'NO', skipped: 'skipped'};

const COLUMNS = [
  {title: 'file', of: (row) => row.file, left: true, hidden: report.files.length < 2},
  {title: 'row', of: (row) => row.position},
  {title: 'problem', of: (row) => row.problem, left: true},
  {title: 'regime', of: (row) => row.regime, left: true},
  {title: 'time (µs)', of: (row) => row.time, text: microseconds},
  {title: '±%', of: (row) => row.spread, text: percent},
  {title: 'TFLOP/s', of: (row) => row.tflops, text: rate},
  {title: 'GB/s', of: (row) => row.gbps, text: rate},
  {title: '% ceiling', of: (row) => row.ceiling, text: percent},
  {title: '% roofline', of: (row) => row.roofline, text: percent},
  {title: 'bound by', of: (row) => row.bound, left: true},
  {title: 'verified', of: (row) => VERIFIED[row.verified] || '-', left: true},
  {title: 'application', of: (row) => row.application, left: true},
  {title: 'library', of: (row) => row.library, left: true},
  {title: 'remarks', of: (row) => row.remarks, left: true},
].filter((column) => !column.hidden);

const table = {sorted: null, down: false, rows: [], built: 0};

function buildTable() {
  const head = element('tr', {}, ...COLUMNS.map((column, index) => {
    const button = element('button', {type: 'button', textContent: column.title});
    const cell = element('th', {className: column.left ? 'words' : '', scope: 'col'}, button);
    cell.addEventListener('click', () => sortBy(index));
    return cell;
  }));
  document.querySelector('#table thead').append(head);
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
}

function sortBy(index) {
  table.down = table.sorted === index ? !table.down : false;
  table.sorted = index;
  document.querySelectorAll('#table th').forEach((cell, place) => {
    if (place === index) cell.setAttribute('aria-sort', table.down ? 'descending' : 'ascending');
    else cell.removeAttribute('aria-sort');
  });
  showTable(table.rows);
}

function showTable(shown) {
  table.rows = table.sorted === null ? shown : ordered(shown, COLUMNS[table.sorted].of, table.down);
  table.built = 0;
  document.querySelector('#table tbody').replaceChildren();
  document.getElementById('count').textContent = `${shown.length} of ${rows.length} rows.`;
  addLines();
}

// What is absent is last, whichever way.
function ordered(shown, of, down) {
  const sign = down ? -1 : 1;
  return [...shown].sort((a, b) => {
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

function cellText(column, value) {
  if (value === null || value === '') return column.left ? '' : '-';
  return column.text ? column.text(value) : String(value);
}

function line(row) {
  const made = element('tr', {}, ...COLUMNS.map((column) => {
    const value = column.of(row);
    const text = cellText(column, value);
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
