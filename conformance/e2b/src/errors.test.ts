/** The tables of errors in the reference, 2.3 and 3.1, by what really leads to them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  AuthenticationError,
  FileNotFoundError,
  InvalidArgumentError,
  NotFoundError,
  RateLimitError,
  Sandbox,
  SandboxError,
  SandboxNotFoundError,
  Secret,
  SecretNotFoundError,
  TimeoutError,
} from 'e2b'
import { api, data, envelope, envelopes, fails, fresh, key, route, sandbox, shared, stream, tenant, unary, until, url, ZERO_ID } from './berth.ts'

/** The same sandbox, entered with a token that is not its own. */
function stranger(box: Sandbox): Sandbox {
  return new Sandbox({
    sandboxId: box.sandboxId,
    sandboxDomain: box.sandboxDomain,
    envdVersion: '0.6.13',
    envdAccessToken: 'f'.repeat(64),
  })
}

describe('errors: control plane', { concurrency: 4 }, () => {
  test('a key that is none is an AuthenticationError, and 401 with its code', async () => {
    const apiKey = `e2b_${'0'.repeat(40)}`
    await fails(Sandbox.create({ apiKey }), AuthenticationError, /Unauthorized/)
    await fails(Sandbox.list({ apiKey }).nextItems(), AuthenticationError)
    await fails(Sandbox.kill(ZERO_ID, { apiKey }), AuthenticationError)
    const answer = await api('GET', '/v2/sandboxes', undefined, { 'X-API-Key': apiKey })
    assert.equal(answer.status, 401)
    assert.equal(answer.json.code, 401)
    assert.equal(typeof answer.json.message, 'string')
  })

  test('no key at all is 401 too', async () => {
    assert.equal((await fetch(`${url}/v2/sandboxes`)).status, 401)
  })

  test('above its limit of sandboxes a tenant has a RateLimitError, after the retries that were asked for', async t => {
    const apiKey = await tenant({ live: 1 })
    const box = await Sandbox.create({ apiKey, timeoutMs: 60_000 })
    t.after(() => box.kill())
    const error = await fails(Sandbox.create({ apiKey, retries: 0 }), RateLimitError, /Rate limit exceeded/)
    assert.equal(error.statusCode, 429)
    const raw = await api('POST', '/v2/sandboxes', { templateID: 'base' }, { 'X-API-Key': apiKey })
    assert.equal(raw.status, 429)
    assert.equal(raw.json.code, 429)
    assert.match(raw.headers.get('retry-after') ?? '', /^\d+$/)
  })

  test('what was refused by a limit is there when the SDK tries again', async t => {
    const apiKey = await tenant({ live: 1 })
    const first = await Sandbox.create({ apiKey, timeoutMs: 60_000 })
    const second = Sandbox.create({ apiKey, timeoutMs: 60_000, retries: 30 })
    // While this one is refused, the one before it is too.
    await fails(Sandbox.create({ apiKey, retries: 0 }), RateLimitError)
    await first.kill()
    const box = await second
    t.after(() => box.kill())
    assert.equal(await box.isRunning(), true)
  })

  test('a sandbox of another tenant does not exist', async t => {
    const apiKey = await tenant({ live: 2 })
    const box = await sandbox(t)
    await fails(Sandbox.getInfo(box.sandboxId, { apiKey }), SandboxNotFoundError)
    await fails(Sandbox.connect(box.sandboxId, { apiKey }), SandboxNotFoundError)
    await fails(Sandbox.setTimeout(box.sandboxId, 1_000, { apiKey }), SandboxNotFoundError)
    await fails(Sandbox.pause(box.sandboxId, { apiKey }), SandboxNotFoundError)
    await fails(Sandbox.fork(box.sandboxId, { apiKey }), SandboxNotFoundError)
    await fails(Sandbox.createSnapshot(box.sandboxId, { apiKey }), SandboxNotFoundError)
    assert.equal(await Sandbox.kill(box.sandboxId, { apiKey }), false)
    const list = await Sandbox.list({ apiKey }).nextItems()
    assert.deepEqual(list, [])
    assert.equal(await box.isRunning(), true)
  })

  test('a snapshot of another tenant cannot be started or deleted', async t => {
    const apiKey = await tenant({ live: 2 })
    const box = await sandbox(t)
    const made = await box.createSnapshot()
    t.after(() => Sandbox.deleteSnapshot(made.snapshotId))
    await fails(Sandbox.create(made.snapshotId, { apiKey }), SandboxError, /^404: /)
    assert.equal(await Sandbox.deleteSnapshot(made.snapshotId, { apiKey }), false)
  })

  test('a secret of another tenant is not there', async t => {
    const apiKey = await tenant({ live: 1 })
    const made = await Secret.create(fresh('SECRET'), 'value')
    t.after(() => Secret.destroy(made.secretId))
    await fails(Secret.getInfo(made.secretId, { apiKey }), SecretNotFoundError)
    await fails(Secret.update(made.name, 'other', { apiKey }), SecretNotFoundError)
    assert.equal(await Secret.destroy(made.name, { apiKey }), false)
    assert.equal((await Secret.getInfo(made.name)).version, 1)
  })

  test('any other status is a SandboxError that has it', async () => {
    const error = await fails(Sandbox.create('base', { timeoutMs: -1_000 }), SandboxError, /^400: /)
    assert.equal(error.statusCode, 400)
  })

  test('what is no JSON is 400', async () => {
    const answer = await api('POST', '/v2/sandboxes', '{"templateID":', { 'Content-Type': 'application/json' })
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.json.code, 400)
  })

  for (const [what, body] of [
    ['no template', {}],
    ['a template that is a number', { templateID: 5 }],
    ['a timeout that is a word', { templateID: 'base', timeout: 'long' }],
    ['metadata that is a list', { templateID: 'base', metadata: ['a'] }],
    ['a variable that is no text', { templateID: 'base', envVars: { A: {} } }],
    ['a list', []],
  ] as const) {
    test(`a create with ${what} is 400`, async () => {
      const answer = await api('POST', '/v2/sandboxes', body)
      assert.equal(answer.status, 400, answer.text)
      assert.equal(answer.json.code, 400)
    })
  }

  test('an id that is none is not found, and nothing worse', async () => {
    for (const id of ['..%2f..%2fetc', 'I0000', '%00', 'a'.repeat(500), "i'; drop table sessions; --"]) {
      const { status } = await api('GET', `/sandboxes/${id.startsWith('%') || id.startsWith('.') ? id : encodeURIComponent(id)}`)
      assert.ok(status === 404 || status === 400, `${id}: ${status}`)
    }
  })

  test('a body that has no end is refused', async () => {
    const body = JSON.stringify({ templateID: 'base', metadata: { large: 'x'.repeat(40 << 20) } })
    const answer = await api('POST', '/v2/sandboxes', body, { 'Content-Type': 'application/json' }).catch(() => undefined)
    assert.ok(answer === undefined || answer.status === 413 || answer.status === 400, String(answer?.status))
    assert.equal((await api('GET', '/health')).status, 204)
  })

  test('a team is a tenant, and the one there is', async () => {
    const teams = await api('GET', '/teams')
    assert.equal(teams.status, 200, teams.text)
    assert.equal(teams.json.length, 1)
    assert.equal(teams.json[0].isDefault, true)
    assert.ok(!teams.text.includes(key))
  })

  test('features that are nowhere answer as for an unknown one, not with a 500', async () => {
    for (const path of ['/nodes', '/admin/teams', '/api-keys', '/access-tokens', '/teams/x/metrics', '/sandboxes/x/y/z']) {
      const { status } = await api('GET', path)
      assert.ok(status >= 400 && status < 500, `${path}: ${status}`)
    }
  })

  test('a call that takes longer than the client waits ends for the client', async () => {
    await assert.rejects(Sandbox.create({ requestTimeoutMs: 1, timeoutMs: 15_000 }), { name: 'TimeoutError' })
  })

  test('a client that gave up can give the reason', async () => {
    await assert.rejects(Sandbox.list().nextItems({ signal: AbortSignal.abort(new Error('enough')) }), /enough/)
  })
})

describe('errors: data plane', { concurrency: 4 }, () => {
  const box = shared()

  test('a wrong token is an AuthenticationError in a stream', async () => {
    await fails(stranger(box()).commands.run('true'), AuthenticationError)
    await fails(
      stranger(box()).files.watchDir('/', () => {}),
      AuthenticationError
    )
    await fails(stranger(box()).pty.create({ cols: 1, rows: 1, onData() {} }), AuthenticationError)
  })

  test('a wrong token is an AuthenticationError in a unary call, and 401', async () => {
    await fails(stranger(box()).files.list('/'), AuthenticationError)
    await fails(stranger(box()).commands.list(), AuthenticationError)
    await fails(stranger(box()).files.read('/etc/hostname'), AuthenticationError)
    const raw = await data(box().sandboxId, '/process.Process/List', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
    })
    assert.equal(raw.status, 401)
  })

  test('the token of one sandbox does not open another', async t => {
    const other = await sandbox(t)
    const { 'X-Access-Token': token } = route(other)
    const raw = await data(box().sandboxId, '/files?path=/etc/hostname', { headers: { 'X-Access-Token': token! } })
    assert.equal(raw.status, 401)
  })

  test('not_found is NotFoundError for a process, FileNotFoundError for a file', async () => {
    await fails(box().commands.connect(999_999), NotFoundError)
    await fails(box().files.getInfo('/nowhere'), FileNotFoundError)
    const raw = await unary(box(), 'filesystem.Filesystem/Stat', { path: '/nowhere' })
    assert.equal(raw.status, 404)
    assert.equal(raw.json.code, 'not_found')
    assert.equal(raw.headers.get('content-type'), 'application/json')
    const streamed = await stream(box(), 'process.Process/Connect', { process: { pid: 999_999 } })
    assert.equal(streamed.status, 200)
    assert.equal(streamed.envelopes[0]!.flags, 2)
    assert.equal(streamed.envelopes[0]!.json.error.code, 'not_found')
  })

  test('invalid_argument is InvalidArgumentError, in a stream and in a unary call', async () => {
    await fails(box().commands.run('true', { cwd: '/nowhere' }), InvalidArgumentError)
    await fails(box().files.list('/etc/passwd'), InvalidArgumentError)
    const raw = await unary(box(), 'filesystem.Filesystem/ListDir', { path: '/etc/passwd' })
    assert.equal(raw.status, 400)
    assert.equal(raw.json.code, 'invalid_argument')
  })

  test('internal is a SandboxError, and 500', async () => {
    const command = await box().commands.run('sleep 50', { background: true })
    const raw = await unary(box(), 'process.Process/SendInput', {
      process: { pid: command.pid },
      input: { stdin: Buffer.from('x').toString('base64') },
    })
    assert.equal(raw.status, 500, raw.text)
    assert.equal(raw.json.code, 'internal')
    await command.kill()
  })

  test('a sandbox that has no room for one more process says so with a RateLimitError', async t => {
    const full = await sandbox(t)
    // It takes every place, and every one that becomes free: a shell that got one could start, and wait for ever for another.
    const filling = `import os, time
while True:
    try:
        os.posix_spawn('/bin/sleep', ['sleep', '600'], {})
    except OSError:
        time.sleep(0.002)`
    await full.files.write('/tmp/filling.py', filling)
    await full.commands.run('exec python3 /tmp/filling.py', { background: true, timeoutMs: 0 })
    let last: unknown
    await until(
      () => full.commands.run('true', { timeoutMs: 5_000 }).then(
        () => false,
        (it: unknown) => (last = it) instanceof RateLimitError
      ),
      () => `a command is refused; the last one ended with ${last}`
    )
    assert.equal(await full.kill(), true)
  })

  test('a sandbox that is gone is SandboxNotFoundError in a stream, TimeoutError elsewhere, and 502', async t => {
    const gone = await sandbox(t)
    await gone.kill()
    await fails(gone.commands.run('true'), SandboxNotFoundError)
    await fails(gone.commands.connect(1), SandboxNotFoundError)
    await fails(gone.pty.create({ cols: 1, rows: 1, onData() {} }), SandboxNotFoundError)
    await fails(gone.commands.list(), TimeoutError)
    await fails(gone.files.read('/etc/hostname'), TimeoutError)
    const raw = await data(gone.sandboxId, '/health')
    assert.equal(raw.status, 502)
    assert.deepEqual(raw.json, { sandboxId: gone.sandboxId, message: 'The sandbox was not found', code: 502 })
  })

  test('a paused sandbox answers like one that is gone', async t => {
    const paused = await sandbox(t)
    await paused.pause()
    await fails(paused.commands.run('true'), SandboxNotFoundError)
    await fails(paused.files.exists('/'), TimeoutError)
    assert.equal((await data(paused, '/health')).status, 502)
  })

  test('deadline_exceeded is a TimeoutError that names the option', async () => {
    await fails(box().commands.run('sleep 30', { timeoutMs: 600 }), TimeoutError, /deadline_exceeded|timeoutMs/)
    const raw = await stream(
      box(),
      'process.Process/Start',
      { process: { cmd: '/bin/sleep', args: ['30'] } },
      { 'Connect-Timeout-Ms': '500' }
    )
    assert.equal(raw.envelopes.at(-1)!.json.error.code, 'deadline_exceeded')
  })

  test('what is no envelope, no JSON or no such call is refused, and nothing breaks', async () => {
    const send = (path: string, type: string, body: string | Buffer<ArrayBuffer>) =>
      fetch(`${url}/${path}`, { method: 'POST', headers: { ...route(box()), 'Content-Type': type }, body })
    const refused = async (body: string | Buffer<ArrayBuffer>): Promise<string> => {
      const answer = await send('process.Process/Start', 'application/connect+json', body)
      assert.equal(answer.status, 200)
      const [only, ...more] = envelopes(Buffer.from(await answer.arrayBuffer()))
      assert.deepEqual([only?.flags, more], [2, []])
      return only!.json.error.code
    }
    assert.equal(await refused('abc'), 'invalid_argument')
    const compressed = envelope({ process: { cmd: '/bin/true' } })
    compressed[0] = 1
    assert.match(await refused(compressed), /^(internal|invalid_argument|unimplemented)$/)
    const huge = Buffer.alloc(5)
    huge.writeUInt32BE(0xffffffff, 1)
    assert.match(await refused(huge), /^(resource_exhausted|invalid_argument)$/)
    const broken = await send('process.Process/List', 'application/json', '{"')
    assert.equal(broken.status, 400)
    assert.equal((await send('process.Process/Start', 'text/plain', '{}')).status, 415)
    assert.ok([404, 501].includes((await send('process.Process/Fly', 'application/json', '{}')).status))
    assert.ok([404, 501].includes((await send('nobody.Nothing/Start', 'application/json', '{}')).status))
    assert.equal((await box().commands.run('echo fine')).stdout, 'fine\n')
  })

  test('fields that nobody knows are ignored', async () => {
    const raw = await unary(box(), 'filesystem.Filesystem/Stat', { path: '/etc', ofTomorrow: { a: [1] } })
    assert.equal(raw.status, 200, raw.text)
  })

  test('what only the host may call is not found from outside', async () => {
    for (const path of ['/init', '/freeze', '/unfreeze', '/upgrade', '/fsfreeze', '/fsthaw', '/collapse']) {
      assert.equal((await data(box(), path, { method: 'POST', body: '{}' })).status, 404, path)
    }
  })

  test('a key of the control plane is none of the data plane', async () => {
    const raw = await data(box().sandboxId, '/files?path=/etc/hostname', { headers: { 'X-API-Key': key } })
    assert.equal(raw.status, 401)
  })

  test('an upload to nowhere, without a path, is 400', async () => {
    const raw = await data(box(), '/files', {
      method: 'POST',
      headers: { 'Content-Type': 'application/octet-stream' },
      body: 'x',
    })
    assert.equal(raw.status, 400, raw.text)
    const other = await data(box(), '/files?path=/tmp/x', { method: 'POST', headers: { 'Content-Type': 'text/csv' }, body: 'x' })
    assert.equal(other.status, 400, other.text)
  })
})

