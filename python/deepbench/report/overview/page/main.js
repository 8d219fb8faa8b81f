// Builds the page. <html data-ready> holds the time in milliseconds when the page became usable:
// filters, the first plot, the table and the selected row exist. <html data-complete> holds the
// time when all plots exist.
function changed() {
  const visibleRows = filteredRows();
  showCharts(visibleRows);
  showTable(visibleRows);
  showKey();
}

const markStage = (name) => {
  document.documentElement.dataset[name] = String(Math.round(performance.now()));
};
const pause = () => new Promise((done) => setTimeout(done));

async function start() {
  document.documentElement.classList.add('ready');
  buildFilters(changed);
  const firstSampled = rows.find((row) => row.good && row.samples.length) || rows[0];
  if (firstSampled) chosenId = firstSampled.id;
  const sampled = rows.some((row) => row.samples.length);
  const [first, ...others] = Object.keys(report.charts).filter((name) => name !== 'distribution' || sampled);
  if (first) await buildChart(first);
  followChart();
  buildTable();
  showTable(rows);
  if (firstSampled) choose(firstSampled.id);
  markStage('ready');
  await buildSweep();
  for (const name of others) {
    await pause();  // lets the browser handle pending clicks
    await buildChart(name);
  }
  addEventListener('resize', fitCharts);
  markStage('complete');
}

start();
