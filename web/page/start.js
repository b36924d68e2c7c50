// Starts the service worker, and explains a page without a server. Not a module, because browsers
// load modules from servers only.
if (location.protocol === 'file:') {
  document.getElementById('status').textContent =
    'Open this page from a file server: python3 -m http.server in its folder, ' +
    'and then http://localhost:8000/.';
} else if (navigator.serviceWorker) {
  // Browsers offer service workers on https and localhost only. The page works without one.
  // `none`: the browser also checks the list of files for a new release, past its HTTP cache.
  navigator.serviceWorker.register('offline.js', { updateViaCache: 'none' }).catch(() => {});
}
