/**
 * A sign-in link carries its token in the fragment, which no browser sends to a server or into a log. It is
 * taken out of the address bar and the history before anything else, so that it cannot be copied from there.
 */
export function takeToken(): string | null {
  const found = new URLSearchParams(window.location.hash.slice(1)).get('token');
  if (found === null) return null;
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search);
  return found === '' ? null : found;
}
