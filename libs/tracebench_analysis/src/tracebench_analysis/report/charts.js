'use strict';
const inTheDark = matchMedia('(prefers-color-scheme: dark)');
function chartLook() {
  const of = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = of('--ink'), soft = of('--soft'), rule = of('--rule');
  return {background: 'transparent', title: {color: ink}, view: {stroke: rule},
    axis: {labelColor: ink, titleColor: ink, domainColor: soft, tickColor: soft, gridColor: rule},
    legend: {labelColor: ink, titleColor: ink}, text: {color: ink}};
}
async function drawChart(box, given, asked) {
  const spec = {...given};
  if (spec.layer || spec.mark) { spec.width = 'container'; spec.autosize = {type: 'fit-x', contains: 'padding'}; }
  const actions = {export: true, source: false, compiled: false, editor: false};
  const drawn = await vegaEmbed(box, spec, {actions, renderer: 'svg', config: chartLook(), ...asked});
  const menu = box.querySelector('summary');
  if (menu) menu.setAttribute('aria-label', 'Save this chart');
  return drawn;
}
function reachable() {
  for (const box of document.querySelectorAll('.wide')) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (!scrolls) { box.removeAttribute('tabindex'); continue; }
    box.tabIndex = 0;
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', 'Table, wider than the page: scroll sideways');
  }
}
addEventListener('resize', reachable);
