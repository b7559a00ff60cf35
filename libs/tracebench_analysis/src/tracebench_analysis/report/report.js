const specs = JSON.parse(document.getElementById('charts').textContent);
const drawAll = () => { for (const [id, spec] of Object.entries(specs)) drawChart(document.getElementById(id), spec); };
inTheDark.addEventListener('change', drawAll);
reachable();
drawAll();
