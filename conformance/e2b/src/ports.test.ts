/** Ports of a sandbox from outside: by the names of getHost in TLS, and by headers where those may be used. */
import assert from 'node:assert/strict'
import { request } from 'node:https'
import { fileURLToPath } from 'node:url'
import { before, describe, test } from 'node:test'
import { Sandbox } from 'e2b'
import { api, data, fresh, route, run, sandbox, shared, tokenOf, until, url, ZERO_ID } from './berth.ts'

const ECHO = `
import http.server, json, os
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        out = json.dumps({"sandbox": os.environ["E2B_SANDBOX_ID"], "method": self.command, "path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}).encode()
        self.send_response(200 if self.path != "/teapot" else 418)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Echo", "yes")
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)
    do_POST = do_PUT = do_DELETE = do_PATCH = do_GET
    def log_message(self, *a): pass
import sys
http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), H).serve_forever()
`

async function echo(box: Sandbox, port: number, address = '0.0.0.0') {
  await box.files.write('/tmp/echo.py', ECHO)
  await box.commands.run(`python3 /tmp/echo.py ${address} ${port}`, { background: true, timeoutMs: 0 })
  await until(
    () => box.commands.run(`curl -sf http://127.0.0.1:${port}/`).then(
      () => true,
      () => false
    ),
    `port ${port} answers inside`
  )
}

describe('ports', { concurrency: 3 }, () => {
  const box = shared()
  before(async () => {
    await echo(box(), 3000)
    await echo(box(), 3001, '127.0.0.1')
  })

  test('getHost names the port, the sandbox and the domain', () => {
    assert.equal(box().getHost(3000), `3000-${box().sandboxId}.${box().sandboxDomain}`)
    assert.notEqual(box().sandboxDomain, 'e2b.app')
    assert.match(box().getMcpUrl(), new RegExp(`^https://50005-${box().sandboxId}\\.`))
  })

  test('a server is reached by its name in TLS', async () => {
    const answer = await fetch(`https://${box().getHost(3000)}/some/path?q=1&r=%20`, {
      method: 'POST',
      headers: { 'X-Own': 'kept' },
      body: 'the body',
    })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('x-echo'), 'yes')
    const seen = (await answer.json()) as any
    assert.equal(seen.method, 'POST')
    assert.equal(seen.path, '/some/path?q=1&r=%20')
    assert.equal(seen.headers['x-own'], 'kept')
    assert.equal(seen.body, 'the body')
  })

  test('the host that the server sees is the one that was asked for', async () => {
    const seen = (await (await fetch(`https://${box().getHost(3000)}/`)).json()) as any
    assert.equal(seen.headers.host, box().getHost(3000))
  })

  test('a server that listens on the loopback alone is reached too', async () => {
    assert.equal((await fetch(`https://${box().getHost(3001)}/`)).status, 200)
  })

  test('statuses of the server are passed on', async () => {
    assert.equal((await fetch(`https://${box().getHost(3000)}/teapot`)).status, 418)
  })

  test('a server is reached by headers on the address of the API', async () => {
    const answer = await data(box(), '/by/headers', {}, 3000)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json.path, '/by/headers')
  })

  test('headers do not route on the name of another port', async t => {
    const other = await sandbox(t)
    await echo(other, 3000)
    const headers = { 'E2b-Sandbox-Id': other.sandboxId, 'E2b-Sandbox-Port': '3000' }
    assert.equal((await data(other, '/', {}, 3000)).json.sandbox, other.sandboxId)
    const seen = (await (await fetch(`https://${box().getHost(3000)}/`, { headers })).json()) as any
    assert.equal(seen.sandbox, box().sandboxId)
  })

  test('headers route on the name for all sandboxes, and not on that of the API', async () => {
    const domain = box().sandboxDomain
    const { 'X-Access-Token': _, ...headers } = route(box(), 3000)
    const shared = await fetch(`https://sandbox.${domain}/by/headers`, { headers })
    assert.equal(((await shared.json()) as any).sandbox, box().sandboxId)
    const other = await fetch(`https://api.${domain}/by/headers`, { headers })
    assert.equal(other.status, 404)
  })

  test('a port where nobody listens is 502 with its body', async () => {
    const answer = await fetch(`https://${box().getHost(3999)}/`)
    assert.equal(answer.status, 502)
    assert.deepEqual(await answer.json(), {
      sandboxId: box().sandboxId,
      message: 'The sandbox is running but port is not open',
      port: 3999,
      code: 502,
    })
  })

  test('a sandbox that is not there is 502 with its body', async () => {
    const answer = await fetch(`https://3000-${ZERO_ID}.${box().sandboxDomain}/`)
    assert.equal(answer.status, 502)
    assert.deepEqual(await answer.json(), { sandboxId: ZERO_ID, message: 'The sandbox was not found', code: 502 })
  })

  test('a sandbox that was killed is 502 on its ports', async t => {
    const gone = await sandbox(t)
    await echo(gone, 3000)
    assert.equal((await fetch(`https://${gone.getHost(3000)}/`)).status, 200)
    await gone.kill()
    const answer = await fetch(`https://${gone.getHost(3000)}/`)
    assert.equal(answer.status, 502)
    assert.deepEqual(await answer.json(), { sandboxId: gone.sandboxId, message: 'The sandbox was not found', code: 502 })
  })

  test('a browser is shown a page instead', async () => {
    const answer = await fetch(`https://${box().getHost(3999)}/`, {
      headers: { Accept: 'text/html,application/xhtml+xml', 'User-Agent': 'Mozilla/5.0 (X11; Linux) Gecko Firefox/140' },
    })
    assert.equal(answer.status, 502)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
  })

  test('a paused sandbox is 502 on its ports', async t => {
    const paused = await sandbox(t)
    await echo(paused, 3000)
    await paused.pause()
    const answer = await fetch(`https://${paused.getHost(3000)}/`)
    assert.equal(answer.status, 502)
    assert.equal(((await answer.json()) as any).message, 'The sandbox was not found')
  })

  test('a request to a port wakes a sandbox that wants it', async t => {
    const sleeping = await sandbox(t, { lifecycle: { onTimeout: 'pause', autoResume: true } })
    await echo(sleeping, 3000)
    await sleeping.pause()
    assert.equal((await fetch(`https://${sleeping.getHost(3000)}/`)).status, 200)
    assert.equal((await sleeping.getInfo()).state, 'running')
  })

  test('a WebSocket goes through, both ways', async () => {
    const server = `
const crypto = require('crypto'), http = require('http')
http.createServer().on('upgrade', (req, socket) => {
  const accept = crypto.createHash('sha1').update(req.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n')
  socket.on('data', frame => {
    if ((frame[0] & 15) !== 1) return socket.end()
    const length = frame[1] & 127, mask = frame.subarray(2, 6)
    const text = Buffer.from(frame.subarray(6, 6 + length).map((b, i) => b ^ mask[i % 4])).toString()
    const out = Buffer.from('echo ' + text)
    socket.write(Buffer.concat([Buffer.from([0x81, out.length]), out]))
  })
}).listen(3300)`
    await box().files.write('/tmp/ws.js', server)
    await box().commands.run('node /tmp/ws.js', { background: true, timeoutMs: 0 })
    await until(
      () => box().commands.run('ss -Hltn sport = :3300').then(it => it.stdout.includes('3300')),
      'it listens'
    )
    const socket = new WebSocket(`wss://${box().getHost(3300)}/chat`)
    const heard: string[] = []
    await new Promise((resolve, reject) => {
      socket.onopen = resolve
      socket.onerror = reject
    })
    socket.onmessage = it => heard.push(String(it.data))
    socket.send('hello')
    await until(() => heard.length === 1, 'it is echoed')
    socket.send('again')
    await until(() => heard.length === 2, 'it is echoed again')
    assert.deepEqual(heard, ['echo hello', 'echo again'])
    socket.close()
  })

  test('a stream of a server comes as it is sent', async () => {
    const server = `
require('http').createServer((req, res) => {
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.write('data: 1\\n\\n')
  const beat = setInterval(() => res.write(': still here\\n\\n'), 500)
  res.on('close', () => clearInterval(beat))
  req.socket.on('close', () => require('fs').writeFileSync('/tmp/sse-closed', ''))
}).listen(3301)`
    await box().files.write('/tmp/sse.js', server)
    await box().commands.run('node /tmp/sse.js', { background: true, timeoutMs: 0 })
    await until(
      () => box().commands.run('ss -Hltn sport = :3301').then(it => it.stdout.includes('3301')),
      'it listens'
    )
    const abort = new AbortController()
    const answer = await fetch(`https://${box().getHost(3301)}/`, { signal: abort.signal })
    const { value } = await answer.body!.getReader().read()
    assert.match(Buffer.from(value!).toString(), /^data: 1\n\n/)
    abort.abort()
    await until(() => box().files.exists('/tmp/sse-closed'), 'the server sees that the client went')
  })

  test('envd has a name in TLS as every port', async () => {
    const health = await fetch(`https://${box().getHost(49983)}/health`)
    assert.equal(health.status, 204)
    const viaName = new Sandbox({
      sandboxId: box().sandboxId,
      sandboxDomain: box().sandboxDomain,
      sandboxUrl: `https://${box().getHost(49983)}`,
      envdVersion: '0.6.13',
      envdAccessToken: tokenOf(box()),
    })
    assert.equal((await viaName.commands.run('echo over TLS')).stdout, 'over TLS\n')
    await viaName.files.write('/tmp/tls.txt', 'x')
    assert.equal(await viaName.files.read('/tmp/tls.txt'), 'x')
  })

  test('the API has a name in TLS too', async () => {
    const domain = box().sandboxDomain
    const list = await Sandbox.list({ apiUrl: `https://api.${domain}`, limit: 1 } as object).nextItems()
    assert.equal(list.length, 1)
  })

  test('the domain alone is enough for everything, volumes too', async () => {
    const { E2B_API_URL, E2B_SANDBOX_URL, E2B_VOLUME_API_URL, NODE_TEST_CONTEXT, ...env } = process.env
    const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
    const { stdout } = await run(process.execPath, ['--require', here('names.cjs'), here('by-names.ts')], {
      env: { ...env, E2B_DOMAIN: box().sandboxDomain },
      timeout: 120_000,
    })
    assert.deepEqual(JSON.parse(stdout), { command: 'by name\n', file: 'written', port: 502, code: '42', volume: 'kept', listed: true })
  })

  test('the certificate is for the domain and its names, by a CA of the server', async () => {
    const { hostname, port } = new URL(`https://${box().getHost(3000)}`)
    const names = await new Promise<string>((resolve, reject) => {
      const asked = request({ host: hostname, port, path: '/', agent: false }, response => {
        const socket = response.socket as import('node:tls').TLSSocket
        resolve(socket.getPeerCertificate().subjectaltname ?? '')
        response.destroy()
      })
      asked.once('error', reject)
      asked.end()
    })
    assert.match(names, /DNS:\*\.sbx\.localhost/)
  })

  test('a port that is none is refused', async () => {
    for (const port of ['0', '65536', 'x', '-1']) {
      const answer = await fetch(`${url}/`, { headers: { 'E2b-Sandbox-Id': box().sandboxId, 'E2b-Sandbox-Port': port } })
      assert.ok(answer.status === 400 || answer.status === 404, `${port}: ${answer.status}`)
    }
  })
})

describe('ports: private traffic', { concurrency: 3 }, () => {
  const box = shared({ network: { allowPublicTraffic: false, maskRequestHost: 'localhost:${PORT}' } })
  before(() => echo(box(), 3000))

  test('a sandbox without public traffic has a token for it', async () => {
    assert.ok(box().trafficAccessToken)
    assert.equal((await box().getInfo()).network?.allowPublicTraffic, false)
    const same = await Sandbox.connect(box().sandboxId)
    assert.equal(same.trafficAccessToken, box().trafficAccessToken)
  })

  test('without the token, or with another, it is 403', async () => {
    const missing = await fetch(`https://${box().getHost(3000)}/`)
    assert.equal(missing.status, 403)
    const { sandboxId, code, message } = (await missing.json()) as any
    assert.deepEqual([sandboxId, code], [box().sandboxId, 403])
    assert.match(message, /^Missing traffic access token/)
    const wrong = await fetch(`https://${box().getHost(3000)}/`, {
      headers: { 'e2b-traffic-access-token': fresh('wrong') },
    })
    assert.equal(wrong.status, 403)
  })

  test('with the token it is reached, and the server does not see it', async () => {
    const answer = await fetch(`https://${box().getHost(3000)}/`, {
      headers: { 'e2b-traffic-access-token': box().trafficAccessToken! },
    })
    assert.equal(answer.status, 200)
    assert.ok(!(await answer.text()).includes(box().trafficAccessToken!))
  })

  test('a WebSocket needs the token as well', async () => {
    const upgrade = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const { hostname, port } = new URL(`https://${box().getHost(3000)}`)
        const asked = request({
          host: hostname,
          port,
          agent: false,
          headers: { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==', ...headers },
        })
        asked.once('response', it => resolve(it.resume().statusCode!))
        asked.once('upgrade', (_, socket) => {
          socket.destroy()
          resolve(101)
        })
        asked.once('error', reject)
        asked.end()
      })
    assert.equal(await upgrade({}), 403)
    assert.notEqual(await upgrade({ 'e2b-traffic-access-token': box().trafficAccessToken! }), 403)
  })

  test('its commands and files need no such token', async () => {
    assert.equal((await box().commands.run('echo in')).stdout, 'in\n')
  })

  test('maskRequestHost is the host that the server sees', async () => {
    const answer = await fetch(`https://${box().getHost(3000)}/`, {
      headers: { 'e2b-traffic-access-token': box().trafficAccessToken! },
    })
    assert.equal(((await answer.json()) as any).headers.host, 'localhost:3000')
    assert.equal((await box().getInfo()).network?.maskRequestHost, 'localhost:${PORT}')
  })

  test('nobody wakes a private sandbox without its token', async t => {
    const sleeping = await sandbox(t, {
      network: { allowPublicTraffic: false },
      lifecycle: { onTimeout: 'pause', autoResume: true },
    })
    await sleeping.pause()
    assert.equal((await fetch(`https://${sleeping.getHost(3000)}/`)).status, 403)
    assert.equal((await api('GET', `/sandboxes/${sleeping.sandboxId}`)).json.state, 'paused')
  })
})
