function drawDiff(root, rows) {
  const cell = (cls, text) => { const e = document.createElement('div'); e.className = cls; e.textContent = text; return e; };
  const side = (cls, tag, text, spans) => {
    const e = cell(cls, '');
    const letters = spans.length ? [...text] : [];
    let at = 0;
    for (const [start, end] of spans) {
      const word = document.createElement(tag);
      word.textContent = letters.slice(start, end).join('');
      e.append(letters.slice(at, start).join(''), word);
      at = end;
    }
    e.append(spans.length ? letters.slice(at).join('') : text);
    return e;
  };
  root.replaceChildren();
  for (const [kind, leftNumber, left, rightNumber, right, leftWords, rightWords] of rows) {
    const line = document.createElement('div');
    line.className = 'line ' + kind;
    line.append(cell('n l-n', leftNumber ?? ''), side('t l', 'del', left, leftWords));
    line.append(cell('n r-n', rightNumber ?? ''), side('t r', 'ins', right, rightWords));
    root.append(line);
  }
}
