// Puts the page together. <html data-ready> tells, in milliseconds, when it could be used.
function changed() {
  const shown = visible();
  showCharts(shown);
  if (chosenId !== null) ringAround(chosenId);
  showTable(shown);
}

async function start() {
  document.documentElement.classList.add('ready');
  buildFilters(changed);
  const first = rows.find((row) => row.good && row.samples.length) || rows[0];
  if (first) chosenId = first.id;
  await buildCharts();
  buildTable();
  showTable(rows);
  if (first) choose(first.id);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
