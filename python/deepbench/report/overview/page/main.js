// Puts the page together. <html data-ready> tells, in milliseconds, when it could be used: filters,
// the first plot, the table and the chosen row are there. <html data-complete>: so are the other plots.
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
    await pause();  // for whoever clicks already
    await buildChart(name);
  }
  addEventListener('resize', fitCharts);
  markStage('complete');
}

start();
