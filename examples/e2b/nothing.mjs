// A server that answers E2B's SDK at once and does nothing: what is left is what the client itself costs.
// Prints the port it listens on.
import { createServer } from 'node:http'

function envelope(flags, value) {
  const json = Buffer.from(JSON.stringify(value))
  const head = Buffer.alloc(5)
  head.writeUInt8(flags, 0)
  head.writeUInt32BE(json.length, 1)
  return Buffer.concat([head, json])
}

const command = Buffer.concat([
  envelope(0, { event: { start: { pid: 1 } } }),
  envelope(0, { event: { data: { stdout: Buffer.from('nothing\n').toString('base64') } } }),
  envelope(0, { event: { end: { exitCode: 0, exited: true, status: 'exit status 0' } } }),
  envelope(2, {}),
])

let made = 0
const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    if (request.method === 'DELETE') {
      response.writeHead(204).end()
    } else if (request.url.endsWith('/sandboxes')) {
      made += 1
      const sandbox = { sandboxID: `i${made}`, templateID: 'base', clientID: '6532622b', envdVersion: '0.6.13', envdAccessToken: 'x' }
      response.writeHead(201, { 'Content-Type': 'application/json' }).end(JSON.stringify(sandbox))
    } else {
      response.writeHead(200, { 'Content-Type': 'application/connect+json' }).end(command)
    }
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
