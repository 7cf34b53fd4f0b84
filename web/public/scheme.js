// Runs before the first paint, so that a dark console never flashes white. Kept apart: the CSP allows no inline script.
(() => {
  const kept = localStorage.getItem('fleetward-color-scheme');
  const dark = kept === 'dark' || (kept !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
})();
