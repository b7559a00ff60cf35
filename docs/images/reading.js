// What the theme leaves without a name or out of a keyboard's reach.
addEventListener('load', () => {
  document.querySelector('.md-search[role=dialog]')?.setAttribute('aria-label', 'Search');
  for (const box of document.querySelectorAll('.md-typeset__scrollwrap, .highlight code, .highlight pre')) {
    if (box.scrollWidth <= box.clientWidth) continue;
    box.tabIndex = 0;
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', 'Wider than the page: scroll sideways');
  }
});
