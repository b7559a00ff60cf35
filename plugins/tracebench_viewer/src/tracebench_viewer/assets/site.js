// What the address holds after `#` is what is looked at: filters, a candidate. It can be kept and sent.
const state = () => new URLSearchParams(location.hash.slice(1));
function remember(name, value) {
  const now = state();
  if (value) now.set(name, value); else now.delete(name);
  history.replaceState(null, '', now.toString() ? '#' + now : location.pathname + location.search);
}
const make = (tag, words, more = {}) => Object.assign(document.createElement(tag), {textContent: words}, more);

function filterable(table) {
  const rows = [...table.tBodies[0].rows], heads = [...table.tHead.rows[0].cells];
  const box = make('div', '', {className: 'filters'}), said = make('p', '', {className: 'note'});
  said.setAttribute('role', 'status');
  const asked = state(), wishes = [];
  const labelled = (words, field) => { const label = make('label', words); label.append(field); box.append(label); };
  const text = make('input', '', {type: 'search', value: asked.get('text') ?? ''});
  labelled('contains', text);
  heads.forEach((head, at) => {
    if (head.dataset.choose === undefined) return;
    const name = head.textContent, found = [...new Set(rows.map(row => row.cells[at].textContent))].sort();
    if (found.length < 2) return;
    const field = document.createElement('select');
    field.append(new Option('all', ''), ...found.map(value => new Option(value, value)));
    field.value = asked.get(name) ?? '';
    if (field.selectedIndex < 0) field.value = '';
    labelled(name, field);
    wishes.push([name, at, field]);
  });
  function show() {
    const part = text.value.toLowerCase();
    let left = 0;
    for (const row of rows) {
      const taken = (!part || row.textContent.toLowerCase().includes(part))
        && wishes.every(([, at, field]) => !field.value || row.cells[at].textContent === field.value);
      row.hidden = !taken;
      left += taken;
    }
    said.textContent = `${left} of ${rows.length}`;
    reachable();
  }
  text.addEventListener('input', () => { remember('text', text.value); show(); });
  for (const [name, , field] of wishes) field.addEventListener('change', () => { remember(name, field.value); show(); });
  table.closest('.wide').before(box, said);
  heads.forEach((head, at) => {
    const button = make('button', head.textContent, {type: 'button'});
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down === 1 ? 'ascending' : 'descending');
      const key = row => row.cells[at].dataset.value ?? row.cells[at].textContent;
      const numbers = rows.every(row => key(row) === '' || !isNaN(Number(key(row))));
      const order = (a, b) => numbers ? Number(a) - Number(b) : a.localeCompare(b);
      rows.sort((a, b) => (key(a) === '') - (key(b) === '') || down * order(key(a), key(b)));
      table.tBodies[0].append(...rows);
    });
  });
  show();
}

async function unpacked(element) {
  const bytes = Uint8Array.from(atob(element.textContent), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

function listed(headers, rows, {caption, opens}) {
  const wide = make('div', '', {className: 'wide tall'}), table = document.createElement('table');
  const head = table.createTHead().insertRow(), body = table.createTBody();
  table.createCaption().textContent = caption;
  const numeric = headers.map((_, at) => rows.every(row => row[at] === null || typeof row[at] === 'number'));
  for (const [at, header] of headers.entries()) head.append(make('th', header, {scope: 'col', className: numeric[at] ? 'num' : ''}));
  for (const row of rows) {
    const line = body.insertRow();
    for (const [at, value] of row.entries()) {
      const cell = line.insertCell();
      if (opens && at === 0) {
        cell.append(make('a', value, {href: '#candidate=' + encodeURIComponent(value)}));
      } else {
        cell.textContent = typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value ?? '-';
        cell.className = numeric[at] ? 'num' : typeof value === 'string' && value.length > 40 ? 'long' : '';
      }
    }
  }
  wide.append(table);
  return wide;
}

async function jobPage(data) {
  const at = id => document.getElementById(id);
  const words = indices => indices.map(i => data.lines[i]).join('\n');
  const choice = at('candidate');
  if (choice) {
    choice.append(...data.candidates.rows.map(row => new Option(`${row[0]}: ${row[2]}, score ${row[1] == null ? '-' : Number(row[1].toPrecision(5))}`, row[0])));
    const show = () => {
      const wanted = state().get('candidate'), known = wanted !== null && Object.hasOwn(data.texts, wanted);
      at('told').textContent = wanted !== null && !known ? `There is no candidate ${wanted} in this job; shown is its best.` : '';
      const name = known ? wanted : data.best;
      choice.value = name;
      const against = data.diffs[name]?.against;
      at('beside').textContent = against ? `Beside ${against}, which it was made from.` : '';
      at('texts').replaceChildren(...data.texts[name].flatMap(([parameter, indices]) => {
        const rows = data.diffs[name]?.rows[parameter], whole = document.createElement('details');
        whole.append(make('summary', rows ? 'The whole text' : 'Text'), make('pre', words(indices), {tabIndex: 0}));
        whole.open = !rows;
        const parts = [make('h3', parameter), whole];
        if (rows) {
          const box = make('div', '', {className: 'diff', tabIndex: 0});
          box.setAttribute('role', 'group');
          box.setAttribute('aria-label', 'What changed, before and after side by side');
          drawDiff(box, rows.map(([kind, ln, l, rn, r, lw, rw]) =>
            [data.kinds[kind], ln, l < 0 ? '' : data.lines[l], rn, r < 0 ? '' : data.lines[r], lw ?? [], rw ?? []]));
          parts.splice(1, 0, box);
        }
        return parts;
      }));
    };
    choice.addEventListener('change', () => { remember('candidate', choice.value); show(); });
    addEventListener('hashchange', show);
    at('candidates').append(listed(data.candidates.headers, data.candidates.rows, {caption: 'Candidates', opens: true}));
    show();
  }
  for (const [id, rows] of Object.entries(data.tables)) at(id).append(listed(rows.headers, rows.rows, {caption: rows.caption}));
  return data.charts;
}

(async () => {
  for (const table of document.querySelectorAll('table.list')) filterable(table);
  reachable();
  const packed = document.getElementById('packed');
  if (!packed) return;
  const data = await unpacked(packed);
  const charts = data.lines ? await jobPage(data) : data.charts;
  reachable();
  const draw = async () => {
    for (const [id, spec] of Object.entries(charts)) {
      const {view} = await drawChart(document.getElementById(id), spec);
      view.addEventListener('click', (event, item) => {
        if (item?.datum?.candidate !== undefined && data.texts?.[item.datum.candidate])
          location.hash = 'candidate=' + encodeURIComponent(item.datum.candidate);
      });
    }
  };
  inTheDark.addEventListener('change', draw);
  await draw();
  document.body.dataset.drawn = 'all';
})();
