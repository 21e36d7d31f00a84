// Loaded before everything else (--require): names below sbx.localhost are this machine, as they are for browsers. Debian's
// resolver does not know that without libnss-myhostname.
const dns = require('node:dns')
const lookup = dns.lookup

dns.lookup = (name, options, callback) => {
  if (typeof options === 'function') {
    callback = options
    options = {}
  }
  if (!/(^|\.)sbx\.localhost$/.test(name)) {
    return lookup(name, options, callback)
  }
  const all = typeof options === 'object' && options.all
  process.nextTick(() =>
    all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4)
  )
}
