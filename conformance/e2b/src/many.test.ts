/** Many streams at once, and clients that vanish in the middle. Run alone, because what the server holds is counted. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdir, readlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { before, describe, test } from 'node:test'
import { Sandbox, Volume } from 'e2b'
import { Sandbox as Interpreter } from '@e2b/code-interpreter'
import { all, api, fresh, key, processes, run, sandbox, shared, stream, until, url } from './berth.ts'

/** Greets whoever sends something, and says when he went. */
const WEBSOCKET = `
const crypto = require('crypto')
require('http').createServer().on('upgrade', (req, socket) => {
  const accept = crypto.createHash('sha1').update(req.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n')
  socket.on('data', () => socket.write(Buffer.from([0x81, 2, 0x68, 0x69])))
  socket.on('error', () => {})
  socket.on('end', () => socket.end()) // or node leaves its own side open
  socket.on('close', () => console.log('closed'))
}).listen(3300, () => console.log('listens'))`

/** Says one thing, and no more until its client is gone. */
const STREAM = `
require('http').createServer((req, res) => {
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.write('data: begun\\n\\n')
  res.on('close', () => console.log('closed'))
}).listen(3400, () => console.log('listens'))`

async function serverPid(): Promise<number> {
  const { stdout } = await run('ss', ['-Hltnp', `sport = :${new URL(url).port}`])
  const pid = /pid=(\d+)/.exec(stdout)?.[1]
  assert.ok(pid, stdout)
  return Number(pid)
}

/** What the server has open: its files, and its connections with clients that are not there any more. */
async function held(): Promise<{ files: string[]; halfClosed: number }> {
  const pid = await serverPid()
  const links = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map(it => readlink(`/proc/${pid}/fd/${it}`).catch(() => ''))
  )
  const { stdout } = await run('ss', ['-Htn', 'state', 'close-wait', `sport = :${new URL(url).port}`])
  return {
    files: links.filter(it => /inotify|\/home\/user\/|\.part$/.test(it)).sort(),
    halfClosed: stdout.split('\n').filter(it => it.trim()).length,
  }
}

describe('many: streams', () => {
  test('200 commands of one client stream at once', async t => {
    const boxes = await Promise.all(Array.from({ length: 4 }, () => sandbox(t)))
    await Promise.all(boxes.map(it => it.commands.run('mkfifo /tmp/gate')))
    const begun = new Set<number>()
    const commands = Array.from({ length: 200 }, (_, index) =>
      boxes[index % 4]!.commands.run(`echo begun ${index}; cat /tmp/gate; echo ended ${index}`, {
        timeoutMs: 0,
        onStdout: () => void begun.add(index),
      })
    )
    await until(() => begun.size === 200, 'all have begun', 90_000)
    await Promise.all(
      boxes.map(it =>
        stream(it, 'process.Process/Start', { process: { cmd: '/bin/bash', args: ['-c', ': > /tmp/gate'] }, stdin: false })
      )
    )
    const results = await Promise.all(commands)
    results.forEach((it, index) => assert.equal(it.stdout, `begun ${index}\nended ${index}\n`))
  })

  test('500 commands one after the other on 20 streams leave nothing open', async t => {
    const box = await sandbox(t)
    let next = 0
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        while (next < 500) {
          const mine = next++
          assert.equal((await box.commands.run(`echo ${mine}`)).stdout, `${mine}\n`)
        }
      })
    )
    assert.deepEqual(await box.commands.list(), [])
  })
})

describe('many: clients that vanish', () => {
  const box = shared()
  let atFirst: Awaited<ReturnType<typeof held>>

  before(async () => {
    await box().commands.run('head -c 100000000 /dev/urandom > /home/user/large')
    atFirst = await held()
  })

  /** Kills a client in the middle of something. */
  async function vanish(what: string, id: string, ...more: string[]) {
    const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
    const client = spawn(process.execPath, ['--require', here('names.cjs'), here('client.ts'), what, id, ...more], {
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const gone = new Promise(resolve => client.once('exit', resolve))
    let said = ''
    client.stdout.on('data', (it: Buffer) => (said += it.toString()))
    await until(() => said.includes('ready'), `the client does ${what}`, 60_000)
    client.kill('SIGKILL')
    await gone
  }

  /** The server holds no more than before, and the sandbox is as good as before. */
  async function nothingIsLeft(of: Sandbox = box()) {
    await until(async () => (await held()).halfClosed === 0, 'no connection of the client is left', 30_000)
    let now = await held()
    await until(
      async () => (now = await held()).files.length <= atFirst.files.length,
      () => `no file and no watch is left open: ${JSON.stringify(now)}`,
      30_000
    )
    assert.equal((await of.commands.run('echo usable')).stdout, 'usable\n')
  }

  test('in a command: it goes on, and can be killed by another', async () => {
    await vanish('command', box().sandboxId)
    await nothingIsLeft()
    const [left] = (await box().commands.list()).filter(it => it.args.join(' ').includes('3333'))
    assert.ok(left, 'it goes on')
    assert.equal(await box().commands.kill(left.pid), true)
    await until(async () => (await processes(box(), 'sleep 3333')) === 0, 'it is dead')
    await nothingIsLeft()
  })

  test('in a command with a timeout: it ends at it all the same', async () => {
    await vanish('timed-command', box().sandboxId)
    assert.equal(await processes(box(), 'sleep 4444'), 1)
    await until(async () => (await processes(box(), 'sleep 4444')) === 0, 'it is dead', 60_000)
    await nothingIsLeft()
  })

  test('in an output that it did not read', async () => {
    await vanish('flood', box().sandboxId)
    for (const it of await box().commands.list()) {
      await box().commands.kill(it.pid)
    }
    await until(async () => (await processes(box(), 'yes')) === 0, 'it is dead')
    await nothingIsLeft()
  })

  test('in a terminal: it stays for whoever comes back', async () => {
    await vanish('pty', box().sandboxId)
    const [left] = (await box().commands.list()).filter(it => it.args.includes('-i'))
    assert.ok(left)
    assert.equal(await box().pty.kill(left.pid), true)
    await nothingIsLeft()
  })

  test('in a watch', async () => {
    await vanish('watch', box().sandboxId)
    await nothingIsLeft()
  })

  test('in an upload', async () => {
    const before = (await box().files.list('/home/user')).map(it => it.name)
    await vanish('upload', box().sandboxId)
    await nothingIsLeft()
    const left = (await box().files.list('/home/user')).map(it => it.name).filter(it => it !== 'half')
    assert.deepEqual(left, before)
    await box().files.write('/home/user/half', 'whole')
    assert.equal(await box().files.read('/home/user/half'), 'whole')
  })

  test('in a download', async () => {
    await vanish('download', box().sandboxId)
    await nothingIsLeft()
  })

  test('while it follows what another started: that goes on', async () => {
    const command = await box().commands.run('while :; do echo 7171; sleep 0.2; done', { background: true, timeoutMs: 0 })
    await vanish('follow', box().sandboxId)
    const heard = command.stdout.length
    await until(() => command.stdout.length > heard, 'it goes on')
    await command.kill()
    await nothingIsLeft()
  })

  test('in a volume, up and down', async () => {
    const volume = await Volume.create(fresh('vol'))
    try {
      await volume.writeFile('/large', new Blob([new Uint8Array(100 << 20)]))
      await vanish('volume-download', box().sandboxId, volume.volumeId)
      await vanish('volume-upload', box().sandboxId, volume.volumeId)
      await nothingIsLeft()
      await volume.writeFile('/half', 'whole', { force: true })
      assert.deepEqual((await volume.list('/')).map(it => it.name).sort(), ['half', 'large'])
    } finally {
      await Volume.destroy(volume.volumeId)
    }
  })

  test('in a WebSocket: the server inside sees it', async () => {
    await box().files.write('/tmp/ws.js', WEBSOCKET)
    const server = await box().commands.run('node /tmp/ws.js', { background: true, timeoutMs: 0 })
    await until(() => server.stdout.includes('listens'), 'it listens')
    await vanish('websocket', box().sandboxId)
    await until(() => server.stdout.includes('closed'), 'it is told')
    await server.kill()
    await nothingIsLeft()
  })

  test('in a stream of a port that is silent: the server inside sees it', async () => {
    await box().files.write('/tmp/stream.js', STREAM)
    const server = await box().commands.run('node /tmp/stream.js', { background: true, timeoutMs: 0 })
    await until(() => server.stdout.includes('listens'), 'it listens')
    await vanish('stream', box().sandboxId)
    await until(() => server.stdout.includes('closed'), 'it is told')
    await server.kill()
    await nothingIsLeft()
  })

  test('in an upload for a template: the same can be uploaded afterwards', async () => {
    const made = await api('POST', '/v3/templates', { name: fresh('template') })
    assert.equal(made.status, 202, made.text)
    const place = `/templates/${made.json.templateID}/files/${'5'.repeat(64)}`
    const asked = await api('GET', place)
    assert.equal(asked.json.present, false)
    await vanish('template-upload', box().sandboxId, asked.json.url)
    await nothingIsLeft()
    assert.equal((await api('GET', place)).json.present, false, 'half of it is not taken for all of it')
    assert.equal((await api('DELETE', `/templates/${made.json.templateID}`)).status, 204)
  })

  test('in code that runs: the kernel is free again', async t => {
    const interpreter = await Interpreter.create({ timeoutMs: 180_000 })
    t.after(() => interpreter.kill())
    await vanish('code', interpreter.sandboxId)
    assert.equal((await interpreter.runCode('6 * 7', { timeoutMs: 30_000 })).text, '42')
    await nothingIsLeft(interpreter)
  })

  test('in a create: what is there is whole, and ends by itself', async () => {
    const mark = fresh('mark')
    const marked = () => all(Sandbox.list({ query: { metadata: { mark } } }))
    // By hand: of the SDK nobody knows when it has sent all of a request, and not yet got an answer.
    const body = JSON.stringify({ templateID: 'base', timeout: 15, metadata: { mark } })
    const head = `POST /v2/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n`
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    await new Promise(resolve => socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`, resolve))
    socket.resetAndDestroy()
    await until(async () => (await marked()).length === 1, 'it is made')
    const [made] = await marked()
    assert.equal(made?.state, 'running')
    const box = await Sandbox.connect(made.sandboxId, { timeoutMs: 1_000 })
    assert.equal((await box.commands.run('echo whole')).stdout, 'whole\n')
    await until(async () => (await marked()).length === 0, 'it is over', 60_000)
  })

  test('after all of that the sandbox can be paused, resumed and killed', async () => {
    assert.equal(await box().pause(), true)
    await box().connect({ timeoutMs: 60_000 })
    assert.equal((await box().commands.run('echo fine')).stdout, 'fine\n')
    assert.equal(await box().kill(), true)
    assert.equal(await box().isRunning(), false)
  })
})
