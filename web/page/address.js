// The state of the page in its address, behind the `#`, which browsers do not send to a server.

/** Returns the state in the address, by key. A link to a place in the page has none. */
export function readAddress() {
  const text = location.hash.slice(1);
  return text.includes('=') ? Object.fromEntries(new URLSearchParams(text)) : {};
}

/** Writes the state. Leaves out keys whose value is empty. */
export function writeAddress(state) {
  const known = Object.entries(state).filter(([, value]) => (value ?? '') !== '');
  history.replaceState(null, '', `#${new URLSearchParams(known)}`);
}
