// The text beside the pointer: a row in a few lines, or the text of a mark.
const tooltip = document.getElementById('tooltip');

function showTooltip(_, event, item) {
  const lines = item && item.datum ? tooltipLines(item.datum) : [];
  tooltip.hidden = lines.length === 0;
  if (tooltip.hidden) return;
  const [first, ...rest] = lines;
  tooltip.replaceChildren(element('b', {textContent: first}),
    ...rest.map((text) => element('div', {textContent: text})));
  const {offsetWidth: width, offsetHeight: height} = tooltip;
  const x = event.clientX + 14 + width > innerWidth ? event.clientX - 14 - width : event.clientX + 14;
  const y = event.clientY + 14 + height > innerHeight ? event.clientY - 14 - height : event.clientY + 14;
  tooltip.style.left = `${Math.max(4, x)}px`;
  tooltip.style.top = `${Math.max(4, y)}px`;
}

function tooltipLines(datum) {
  if (datum.tip) return [datum.tip];
  if (datum.id === undefined) return [];
  const row = rows[datum.id];
  return [row.problem, ...(datum.lines || []), ...rowLines(row)];
}

function rowLines(row) {
  const spread = row.spread === null ? '' : ` ±${percent(row.spread)} %`;
  return [
    [`${timeText(row.time)}${spread}`, speedOf(row)].filter(Boolean).join(', '),
    row.roofline === null ? '' : `${share(row.roofline)} % of the roofline, bound by ${row.bound}`,
    [row.regime, row.library, row.application].filter(Boolean).join(' · '),
    report.files.length > 1 ? `file ${row.file}, row ${row.position}` : `row ${row.position}`,
    row.remarks || '',
  ].filter(Boolean);
}

function speedOf(row) {
  if (row.tflops !== null) return `${rate(row.tflops)} ${workUnit(row.precision)}`;
  return row.gbps === null ? '' : `${rate(row.gbps)} GB/s`;
}
