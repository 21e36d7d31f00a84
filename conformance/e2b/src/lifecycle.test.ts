import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { E2B, InvalidArgumentError, Sandbox, SandboxError, SandboxNotFoundError, TimeoutError } from 'e2b'
import { all, api, data, fails, fresh, pause, sandbox, tokenOf, until, ZERO_ID } from './berth.ts'

const ID = /^i[a-z0-9]{20}$/

describe('lifecycle: create', { concurrency: 4 }, () => {
  test('a bare create makes a sandbox of base, with an id that can be part of a name', async t => {
    const box = await sandbox(t)
    assert.match(box.sandboxId, ID)
    assert.equal((await box.commands.run('echo hello')).stdout, 'hello\n')
  })

  test('the template is given by name', async t => {
    const box = await Sandbox.create('base', { timeoutMs: 60_000 })
    t.after(() => box.kill())
    assert.equal(await box.isRunning(), true)
  })

  test('POST /v2/sandboxes with a template alone answers 201 with all of Sandbox', async t => {
    const made = await api('POST', '/v2/sandboxes', { templateID: 'base' })
    assert.equal(made.status, 201, made.text)
    t.after(() => Sandbox.kill(made.json.sandboxID))
    assert.match(made.json.sandboxID, ID)
    assert.equal(made.json.envdVersion, '0.6.13')
    assert.equal(typeof made.json.templateID, 'string')
    assert.equal(made.json.clientID, '6532622b')
    assert.equal(made.json.alias, 'base')
    assert.match(made.json.domain, /^sbx\.localhost:\d+$/)
    assert.equal(typeof made.json.envdAccessToken, 'string')
    assert.ok(!made.json.trafficAccessToken)
    const info = await Sandbox.getInfo(made.json.sandboxID)
    assert.equal(seconds(info.startedAt, info.endAt), 300)
  })

  test('POST /sandboxes of older clients lives 15 s by default and is not secured', async t => {
    const made = await api('POST', '/sandboxes', { templateID: 'base' })
    assert.equal(made.status, 201, made.text)
    t.after(() => Sandbox.kill(made.json.sandboxID))
    assert.ok(!made.json.envdAccessToken)
    const info = await Sandbox.getInfo(made.json.sandboxID)
    assert.equal(seconds(info.startedAt, info.endAt), 15)
    const listed = await data(made.json.sandboxID, '/process.Process/List', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
    })
    assert.equal(listed.status, 200, listed.text)
  })

  test('POST /sandboxes with secure gives a token, without which nobody comes in', async t => {
    const made = await api('POST', '/sandboxes', { templateID: 'base', timeout: 60, secure: true })
    assert.equal(made.status, 201, made.text)
    t.after(() => Sandbox.kill(made.json.sandboxID))
    assert.equal(typeof made.json.envdAccessToken, 'string')
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }
    assert.equal((await data(made.json.sandboxID, '/process.Process/List', init)).status, 401)
    const headers = { ...init.headers, 'X-Access-Token': made.json.envdAccessToken }
    assert.equal((await data(made.json.sandboxID, '/process.Process/List', { ...init, headers })).status, 200)
  })

  test('metadata and envs are those that were given', async t => {
    const box = await sandbox(t, { metadata: { user: 'ada', 'k e': 'v&1=ü' }, envs: { GREETING: 'hello you' } })
    assert.deepEqual((await box.getInfo()).metadata, { user: 'ada', 'k e': 'v&1=ü' })
    assert.equal((await box.commands.run('echo "$GREETING"')).stdout, 'hello you\n')
  })

  test('a sandbox knows that it is one, and which', async t => {
    const box = await sandbox(t)
    const env = await box.commands.run('echo "$E2B_SANDBOX $E2B_SANDBOX_ID"')
    assert.equal(env.stdout, `true ${box.sandboxId}\n`)
  })

  test('a timeout is rounded up to seconds', async t => {
    const box = await sandbox(t, { timeoutMs: 61_001 })
    const info = await box.getInfo()
    assert.equal(seconds(info.startedAt, info.endAt), 62)
  })

  for (const timeout of [0, -5]) {
    test(`a timeout of ${timeout} s is refused with 400`, async () => {
      const made = await api('POST', '/v2/sandboxes', { templateID: 'base', timeout })
      assert.equal(made.status, 400, made.text)
      assert.equal(made.json.code, 400)
      assert.equal(typeof made.json.message, 'string')
    })
  }

  test('a template that is not there is an error of the API with its status', async () => {
    const error = await fails(Sandbox.create(fresh('no-such-template')), SandboxError, /^404: /)
    assert.equal(error.statusCode, 404)
  })

  test('the name of a template may be written large, and with its tag', async t => {
    const made = await api('POST', '/v2/sandboxes', { templateID: 'BASE:default', timeout: 60 })
    assert.equal(made.status, 201, made.text)
    t.after(() => Sandbox.kill(made.json.sandboxID))
  })

  test('autoPauseMemory without autoPause is refused with 400', async () => {
    const made = await api('POST', '/v2/sandboxes', { templateID: 'base', autoPauseMemory: false })
    assert.equal(made.status, 400, made.text)
  })

  test('autoPauseMemory false together with autoResume is refused with 400', async () => {
    const made = await api('POST', '/v2/sandboxes', {
      templateID: 'base',
      autoPause: true,
      autoPauseMemory: false,
      autoResume: { enabled: true },
    })
    assert.equal(made.status, 400, made.text)
  })

  test('a lifecycle that makes no sense is refused by the SDK itself', async () => {
    await fails(Sandbox.create({ lifecycle: { onTimeout: 'kill', autoResume: true } }), InvalidArgumentError)
  })

  test('fields that nobody knows are ignored', async t => {
    const made = await api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 60, of_tomorrow: { a: 1 } })
    assert.equal(made.status, 201, made.text)
    t.after(() => Sandbox.kill(made.json.sandboxID))
  })

  test('a sandbox knows its template', async t => {
    const box = await sandbox(t)
    assert.equal((await box.commands.run('echo $E2B_TEMPLATE_ID')).stdout.trim(), (await box.getInfo()).templateId)
  })

  test('what is a service of E2B’s own is refused with 400', async () => {
    const mcp = await fails(Sandbox.create({ mcp: { duckduckgo: {} } } as object), SandboxError, /^400: .*MCP/)
    assert.equal(mcp.statusCode, 400)
    const iam = await api('POST', '/v2/sandboxes', { templateID: 'base', iam: { tokens: { a: { audience: 'x' } } } })
    assert.equal(iam.status, 400, iam.text)
    assert.match(iam.json.message, /iam/)
  })

  test('a sandbox without an MCP gateway has no token for one', async t => {
    const box = await sandbox(t)
    await assert.rejects(box.getMcpToken(), { name: 'FileNotFoundError' })
  })

  test('a client with options of its own makes sandboxes too', async t => {
    const client = new E2B({ apiKey: process.env.E2B_API_KEY, requestTimeoutMs: 30_000 })
    const box = await client.Sandbox.create({ timeoutMs: 60_000 })
    t.after(() => box.kill())
    assert.equal(await box.isRunning(), true)
  })

  test('ten at once are ten', async t => {
    const boxes = await Promise.all(Array.from({ length: 10 }, () => sandbox(t, { timeoutMs: 60_000 })))
    assert.equal(new Set(boxes.map(it => it.sandboxId)).size, 10)
    const names = await Promise.all(boxes.map(it => it.commands.run('echo $E2B_SANDBOX_ID')))
    assert.deepEqual(
      names.map(it => it.stdout.trim()),
      boxes.map(it => it.sandboxId)
    )
  })
})

describe('lifecycle: info', { concurrency: 4 }, () => {
  test('getInfo tells everything about a sandbox', async t => {
    const before = Date.now()
    const box = await sandbox(t, { timeoutMs: 120_000, metadata: { a: '1' } })
    const info = await box.getInfo()
    assert.equal(info.sandboxId, box.sandboxId)
    assert.equal(info.name, 'base')
    assert.equal(info.state, 'running')
    assert.equal(info.envdVersion, '0.6.13')
    assert.ok(info.cpuCount >= 1)
    assert.ok(info.memoryMB >= 128)
    assert.ok(info.startedAt.getTime() >= before - 2_000 && info.startedAt.getTime() <= Date.now() + 2_000)
    assert.equal(seconds(info.startedAt, info.endAt), 120)
    assert.deepEqual(info.lifecycle, { onTimeout: 'kill', autoResume: false })
    assert.deepEqual(info.volumeMounts, [])
    assert.equal(info.allowInternetAccess, undefined)
  })

  test('GET /sandboxes/{id} has the fields of SandboxDetail', async t => {
    const box = await sandbox(t)
    const detail = await api('GET', `/sandboxes/${box.sandboxId}`)
    assert.equal(detail.status, 200)
    for (const name of ['sandboxID', 'templateID', 'clientID', 'startedAt', 'endAt', 'state', 'envdVersion']) {
      assert.equal(typeof detail.json[name], 'string', name)
    }
    for (const name of ['cpuCount', 'memoryMB', 'diskSizeMB']) {
      assert.ok(Number.isInteger(detail.json[name]), name)
    }
    assert.equal(detail.json.envdAccessToken, tokenOf(box))
    assert.equal(detail.json.allowInternetAccess, null)
    assert.match(detail.json.startedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
  })

  test('getFullInfo is the same as getInfo', async t => {
    const box = await sandbox(t)
    assert.deepEqual(await Sandbox.getFullInfo(box.sandboxId), await Sandbox.getInfo(box.sandboxId))
  })

  test('an id with the suffix of older clients is the same sandbox', async t => {
    const box = await sandbox(t)
    assert.equal((await api('GET', `/sandboxes/${box.sandboxId}-6532622b`)).json.sandboxID, box.sandboxId)
  })

  test('what is asked about a sandbox that is not there is not found', async () => {
    await fails(Sandbox.getInfo(ZERO_ID), SandboxNotFoundError, /not found/)
    const detail = await api('GET', `/sandboxes/${ZERO_ID}`)
    assert.equal(detail.status, 404)
    assert.equal(detail.json.code, 404)
    assert.equal(detail.json.message, `Sandbox "${ZERO_ID}" doesn't exist or you don't have access to it`)
  })

  test('isRunning is true while it runs and false when it was killed', async t => {
    const box = await sandbox(t)
    assert.equal(await box.isRunning(), true)
    assert.equal(await box.kill(), true)
    assert.equal(await box.isRunning(), false)
  })

  test('kill answers true once and false after that', async t => {
    const box = await sandbox(t)
    assert.equal(await Sandbox.kill(box.sandboxId), true)
    assert.equal(await Sandbox.kill(box.sandboxId), false)
    assert.equal(await Sandbox.kill(ZERO_ID), false)
  })

  test('a sandbox that is killed under traffic is not made anew by it', async t => {
    const box = await sandbox(t)
    let over = false
    const traffic = Array.from({ length: 8 }, async () => {
      while (!over) {
        await box.isRunning()
      }
    })
    await box.kill()
    await until(async () => !(await box.isRunning()), 'it is over')
    over = true
    await Promise.all(traffic)
    await fails(Sandbox.getInfo(box.sandboxId), SandboxNotFoundError)
    assert.equal(await box.isRunning(), false)
  })

  test('health of the control plane is 204', async () => {
    assert.equal((await api('GET', '/health')).status, 204)
  })

  test('the health of a sandbox is 204 and needs no token', async t => {
    const box = await sandbox(t)
    assert.equal((await data(box.sandboxId, '/health')).status, 204)
  })
})

describe('lifecycle: timeout and connect', { concurrency: 8 }, () => {
  test('a sandbox is gone when its time is over, to the second', async t => {
    const box = await sandbox(t, { timeoutMs: 5_000 })
    await endsAt(box, (await box.getInfo()).endAt)
    await until(() => api('GET', `/sandboxes/${box.sandboxId}`).then(it => it.status === 404), 'it is not found')
  })

  test('setTimeout sets the end from now on, later or earlier', async t => {
    const box = await sandbox(t, { timeoutMs: 60_000 })
    await ends(box, 300, () => box.setTimeout(300_000))
    await ends(box, 20, () => Sandbox.setTimeout(box.sandboxId, 20_000))
  })

  test('setTimeout of a few seconds ends it then', async t => {
    const box = await sandbox(t)
    const before = Date.now()
    await box.setTimeout(2_000)
    await endsAt(box, new Date(before + 2_000), Date.now() - before)
  })

  test('a negative timeout is 0: it ends at once', async t => {
    const box = await sandbox(t)
    assert.equal((await api('POST', `/sandboxes/${box.sandboxId}/timeout`, { timeout: -1 })).status, 204)
    await until(async () => !(await box.isRunning()), 'it is over')
  })

  test('setTimeout of a sandbox that is not there is not found', async () => {
    await fails(Sandbox.setTimeout(ZERO_ID, 1_000), SandboxNotFoundError)
  })

  test('connect gives the same sandbox', async t => {
    const box = await sandbox(t)
    await box.files.write('note.txt', 'kept')
    const same = await Sandbox.connect(box.sandboxId)
    assert.equal(same.sandboxId, box.sandboxId)
    assert.equal(tokenOf(same), tokenOf(box))
    assert.equal(await same.files.read('note.txt'), 'kept')
  })

  test('connect to a running sandbox extends its time and never shortens it', async t => {
    const box = await sandbox(t, { timeoutMs: 100_000 })
    const { endAt } = await box.getInfo()
    await Sandbox.connect(box.sandboxId, { timeoutMs: 10_000 })
    assert.deepEqual((await box.getInfo()).endAt, endAt)
    await ends(box, 400, () => box.connect({ timeoutMs: 400_000 }))
  })

  test('connect answers 200 to a running sandbox, and its body may be missing', async t => {
    const box = await sandbox(t)
    const connected = await ends(box, 300, () => api('POST', `/v2/sandboxes/${box.sandboxId}/connect`))
    assert.equal(connected.status, 200, connected.text)
    assert.equal(connected.json.sandboxID, box.sandboxId)
    assert.equal(connected.json.envdAccessToken, tokenOf(box))
  })

  test('connect to a sandbox that is not there is not found', async () => {
    await fails(Sandbox.connect(ZERO_ID), SandboxNotFoundError, /Paused sandbox .* not found/)
  })

  test('connect of older clients needs a timeout', async t => {
    const box = await sandbox(t)
    assert.equal((await api('POST', `/sandboxes/${box.sandboxId}/connect`, { timeout: 60 })).status, 200)
    assert.equal((await api('POST', `/sandboxes/${box.sandboxId}/connect`, {})).status, 400)
  })

  test('a time that is longer than any may be is refused with 400 everywhere', async t => {
    const timeoutMs = 10 * 365 * 86_400_000
    const box = await sandbox(t)
    const text = /^400: Timeout cannot be greater than \d+ hours/
    await fails(Sandbox.create({ timeoutMs }), SandboxError, text)
    await fails(box.setTimeout(timeoutMs), SandboxError, text)
    await fails(Sandbox.connect(box.sandboxId, { timeoutMs }), SandboxError, text)
    assert.equal(await box.isRunning(), true)
  })

  test('connect refuses what it does not know, in the SDK itself', async t => {
    const box = await sandbox(t)
    await fails(Sandbox.connect(box.sandboxId, { onResume: 'dance' as 'reboot' }), InvalidArgumentError)
  })

  test('refreshes of older clients only extend, by 15 s at least', async t => {
    const box = await sandbox(t, { timeoutMs: 60_000 })
    const refresh = async (duration: number) =>
      assert.equal((await api('POST', `/sandboxes/${box.sandboxId}/refreshes`, { duration })).status, 204)
    const { endAt } = await box.getInfo()
    await refresh(5)
    assert.deepEqual((await box.getInfo()).endAt, endAt)
    await ends(box, 200, () => refresh(200))
    await box.setTimeout(10_000)
    await ends(box, 15, () => refresh(1))
    assert.equal((await api('POST', `/sandboxes/${ZERO_ID}/refreshes`, { duration: 20 })).status, 404)
  })
})

describe('lifecycle: pause and resume', { concurrency: 6 }, () => {
  test('a paused sandbox keeps its processes and files', async t => {
    const box = await sandbox(t)
    const command = await box.commands.run('i=0; while :; do i=$((i+1)); echo $i > count; sleep 0.1; done', {
      background: true,
      timeoutMs: 0,
    })
    await until(() => box.files.exists('count'), 'it counts')
    await command.disconnect()
    assert.equal(await box.pause(), true)
    assert.equal((await Sandbox.getInfo(box.sandboxId)).state, 'paused')
    assert.equal(await box.isRunning(), false)
    const same = await Sandbox.connect(box.sandboxId, { timeoutMs: 60_000 })
    assert.equal((await same.getInfo()).state, 'running')
    assert.ok((await same.commands.list()).some(it => it.pid === command.pid))
    const counted = Number(await same.files.read('count'))
    await until(async () => Number(await same.files.read('count')) > counted, 'it counts on')
  })

  test('pause answers false when it is paused already, and the API 409', async t => {
    const box = await sandbox(t)
    assert.equal(await box.pause(), true)
    assert.equal(await Sandbox.pause(box.sandboxId), false)
    const again = await api('POST', `/sandboxes/${box.sandboxId}/pause`)
    assert.equal(again.status, 409)
    assert.equal(again.json.code, 409)
  })

  test('pause of a sandbox that is not there is not found', async () => {
    await fails(Sandbox.pause(ZERO_ID), SandboxNotFoundError)
  })

  test('betaPause is the old name of pause', async t => {
    const box = await sandbox(t)
    assert.equal(await box.betaPause(), true)
    assert.equal(await Sandbox.betaPause(box.sandboxId), false)
  })

  test('a sandbox paused without memory keeps its files and boots again', async t => {
    const box = await sandbox(t)
    await box.files.write('note.txt', 'kept')
    await box.commands.run('sleep 1000', { background: true, timeoutMs: 0 })
    assert.equal(await box.pause({ keepMemory: false }), true)
    assert.equal((await box.getInfo()).state, 'paused')
    await box.connect({ timeoutMs: 60_000 })
    assert.equal(await box.files.read('note.txt'), 'kept')
    assert.deepEqual(await box.commands.list(), [])
  })

  test('a sandbox paused with memory can be rebooted when it is resumed', async t => {
    const box = await sandbox(t)
    await box.files.write('note.txt', 'kept')
    await box.commands.run('sleep 1000', { background: true, timeoutMs: 0 })
    await box.pause()
    const same = await Sandbox.connect(box.sandboxId, { onResume: 'reboot', timeoutMs: 60_000 })
    assert.deepEqual(await same.commands.list(), [])
    assert.equal(await same.files.read('note.txt'), 'kept')
  })

  test('connect answers 201 when it resumed', async t => {
    const box = await sandbox(t)
    await box.pause()
    const connected = await ends(box, 60, () => api('POST', `/v2/sandboxes/${box.sandboxId}/connect`, { timeout: 60 }))
    assert.equal(connected.status, 201, connected.text)
  })

  test('a paused sandbox does not run out of time', async t => {
    const box = await sandbox(t)
    await box.setTimeout(8_000)
    const { endAt } = await box.getInfo()
    await box.pause()
    await until(() => Date.now() > endAt.getTime() + 1_000, 'its time would be over')
    assert.equal((await box.getInfo()).state, 'paused')
    await box.connect({ timeoutMs: 60_000 })
    assert.equal(await box.isRunning(), true)
  })

  test('the end of a paused sandbox is the time of its pause', async t => {
    const box = await sandbox(t)
    await ends(box, 0, () => box.pause())
  })

  test('a paused sandbox can be killed', async t => {
    const box = await sandbox(t)
    await box.pause()
    assert.equal(await box.kill(), true)
    await fails(Sandbox.connect(box.sandboxId), SandboxNotFoundError)
  })

  test('a connect while it is paused comes in', async t => {
    const box = await sandbox(t)
    const paused = box.pause()
    await box.connect({ timeoutMs: 60_000 })
    await paused
    const same = await Sandbox.connect(box.sandboxId, { timeoutMs: 60_000 })
    assert.equal((await same.commands.run('echo in')).stdout, 'in\n')
  })

  test('a connect while it is killed does not bring it back', async t => {
    for (let round = 0; round < 5; round++) {
      const box = await sandbox(t)
      const [killed, connected] = await Promise.all([
        box.kill(),
        Sandbox.connect(box.sandboxId).catch((it: unknown) => it),
      ])
      assert.equal(killed, true)
      assert.ok(
        connected instanceof Sandbox ||
          connected instanceof SandboxNotFoundError ||
          (connected instanceof SandboxError && connected.statusCode === 409),
        String(connected)
      )
      await fails(Sandbox.getInfo(box.sandboxId), SandboxNotFoundError)
    }
  })

  test('it can be paused and resumed again and again', async t => {
    const box = await sandbox(t)
    for (let time = 1; time <= 4; time++) {
      await box.files.write(`note-${time}.txt`, String(time))
      assert.equal(await box.pause({ keepMemory: time % 2 === 0 }), true)
      await box.connect({ timeoutMs: 60_000 })
    }
    const files = (await box.files.list('.')).map(it => it.name).filter(it => it.startsWith('note-'))
    assert.deepEqual(files, ['note-1.txt', 'note-2.txt', 'note-3.txt', 'note-4.txt'])
  })

  test('two connects at once to a paused sandbox both come in', async t => {
    const box = await sandbox(t)
    await box.pause()
    const both = await Promise.all([Sandbox.connect(box.sandboxId), Sandbox.connect(box.sandboxId)])
    for (const one of both) {
      assert.equal((await one.commands.run('echo in')).stdout, 'in\n')
    }
  })

  test('resume of older clients answers 201, and 409 when it runs', async t => {
    const box = await sandbox(t)
    await box.pause()
    const resumed = await api('POST', `/sandboxes/${box.sandboxId}/resume`, { timeout: 60 })
    assert.equal(resumed.status, 201, resumed.text)
    assert.equal(resumed.json.sandboxID, box.sandboxId)
    assert.equal((await api('POST', `/sandboxes/${box.sandboxId}/resume`, { timeout: 60 })).status, 409)
    assert.equal((await api('POST', `/sandboxes/${ZERO_ID}/resume`, { timeout: 60 })).status, 404)
  })

  test('resume of older clients gives 15 s, and can say what comes then', async t => {
    const box = await sandbox(t)
    await box.pause()
    await ends(box, 15, () => api('POST', `/sandboxes/${box.sandboxId}/resume`, { autoPause: true }))
    assert.equal((await box.getInfo()).lifecycle?.onTimeout, 'pause')
  })

  test('connect of older clients answers 201 when it resumed', async t => {
    const box = await sandbox(t)
    await box.pause()
    assert.equal((await api('POST', `/sandboxes/${box.sandboxId}/connect`, { timeout: 60 })).status, 201)
  })

  test('with onTimeout pause it is paused when its time is over', async t => {
    const box = await sandbox(t, { lifecycle: { onTimeout: 'pause' } })
    await box.files.write('note.txt', 'kept')
    assert.deepEqual((await box.getInfo()).lifecycle, { onTimeout: 'pause', autoResume: false })
    await box.setTimeout(1_000)
    await until(async () => (await box.getInfo()).state === 'paused', 'it is paused')
    assert.equal(await box.isRunning(), false)
    await box.connect({ timeoutMs: 60_000 })
    assert.equal(await box.files.read('note.txt'), 'kept')
  })

  test('what is to be paused by its timeout stays so after it was resumed', async t => {
    const box = await sandbox(t, { timeoutMs: 2_000, lifecycle: { onTimeout: 'pause' } })
    await until(async () => (await box.getInfo()).state === 'paused', 'it is paused')
    const resumed = await api('POST', `/v2/sandboxes/${box.sandboxId}/connect`, { timeout: 2 })
    assert.equal(resumed.status, 201, resumed.text)
    await until(async () => (await box.getInfo()).state === 'paused', 'it is paused again')
  })

  test('with keepMemory false its timeout keeps the files alone', async t => {
    const box = await sandbox(t, { lifecycle: { onTimeout: { action: 'pause', keepMemory: false } } })
    await box.commands.run('sleep 1000', { background: true, timeoutMs: 0 })
    await box.setTimeout(1_000)
    await until(async () => (await box.getInfo()).state === 'paused', 'it is paused')
    await box.connect({ timeoutMs: 60_000 })
    assert.deepEqual(await box.commands.list(), [])
  })

  test('with autoResume a request wakes it', async t => {
    const box = await sandbox(t, { timeoutMs: 60_000, lifecycle: { onTimeout: 'pause', autoResume: true } })
    assert.deepEqual((await box.getInfo()).lifecycle, { onTimeout: 'pause', autoResume: true })
    await box.files.write('note.txt', 'kept')
    await box.pause()
    assert.equal(await ends(box, 300, () => box.files.read('note.txt')), 'kept')
    assert.equal((await box.getInfo()).state, 'running')
  })

  test('with autoResume it has the time that it was made with, if that is longer', async t => {
    const box = await sandbox(t, { timeoutMs: 900_000, lifecycle: { onTimeout: 'pause', autoResume: true } })
    await box.pause()
    await ends(box, 900, () => box.files.exists('/'))
  })

  test('with autoResume isRunning wakes it too', async t => {
    const box = await sandbox(t, { lifecycle: { onTimeout: 'pause', autoResume: true } })
    await box.pause()
    assert.equal(await box.isRunning(), true)
    assert.equal((await box.getInfo()).state, 'running')
  })

  test('with autoResume nobody wakes it without the token', async t => {
    const box = await sandbox(t, { lifecycle: { onTimeout: 'pause', autoResume: true } })
    await box.pause()
    const asked = await data(box.sandboxId, '/health')
    assert.equal(asked.status, 403, asked.text)
    assert.equal((await box.getInfo()).state, 'paused')
  })

  test('with autoResume no request wakes what lost its memory', async t => {
    const box = await sandbox(t, { lifecycle: { onTimeout: 'pause', autoResume: true } })
    await box.pause({ keepMemory: false })
    await fails(box.files.read('/etc/hostname'), TimeoutError)
    assert.equal((await box.getInfo()).state, 'paused')
  })

  test('without autoResume a request does not wake it', async t => {
    const box = await sandbox(t, { lifecycle: { onTimeout: 'pause' } })
    await box.pause()
    await fails(box.files.read('/etc/hostname'), TimeoutError, /sandbox timeout/)
    assert.equal((await box.getInfo()).state, 'paused')
  })
})

describe('lifecycle: list', { concurrency: 4 }, () => {
  test('a list by metadata has those that have all of it', async t => {
    const mark = fresh('mark')
    const one = await sandbox(t, { metadata: { mark, 'k e': 'v&1' } })
    const two = await sandbox(t, { metadata: { mark, kind: 'two' } })
    const ids = async (metadata: Record<string, string>) =>
      (await all(Sandbox.list({ query: { metadata } }))).map(it => it.sandboxId).sort()
    assert.deepEqual(await ids({ mark }), [one.sandboxId, two.sandboxId].sort())
    assert.deepEqual(await ids({ mark, 'k e': 'v&1' }), [one.sandboxId])
    assert.deepEqual(await ids({ mark, kind: 'two' }), [two.sandboxId])
    assert.deepEqual(await ids({ mark: 'other' }), [])
  })

  test('what is listed tells what a sandbox is', async t => {
    const mark = fresh('mark')
    const box = await sandbox(t, { metadata: { mark } })
    const [listed] = await Sandbox.list({ query: { metadata: { mark } } }).nextItems()
    const info = await box.getInfo()
    assert.deepEqual(listed, {
      sandboxId: info.sandboxId,
      templateId: info.templateId,
      name: info.name,
      metadata: info.metadata,
      startedAt: info.startedAt,
      endAt: info.endAt,
      state: 'running',
      cpuCount: info.cpuCount,
      memoryMB: info.memoryMB,
      envdVersion: info.envdVersion,
      volumeMounts: [],
    })
  })

  test('a list says nothing that only the owner of a sandbox is to know', async t => {
    const mark = fresh('mark')
    await sandbox(t, { metadata: { mark } })
    const listed = await api('GET', `/v2/sandboxes?metadata=${encodeURIComponent(`mark=${mark}`)}`)
    assert.equal(listed.json.length, 1)
    assert.ok(!('envdAccessToken' in listed.json[0]))
    assert.match(listed.headers.get('X-Total-Running') ?? '', /^\d+$/)
  })

  test('a list comes in pages, the newest first', async t => {
    const mark = fresh('mark')
    const made: string[] = []
    for (let count = 0; count < 5; count++) {
      made.push((await sandbox(t, { metadata: { mark } })).sandboxId)
    }
    const pages = Sandbox.list({ query: { metadata: { mark } }, limit: 2 })
    const sizes: number[] = []
    const seen: string[] = []
    while (pages.hasNext) {
      const page = await pages.nextItems()
      sizes.push(page.length)
      seen.push(...page.map(it => it.sandboxId))
    }
    assert.deepEqual(sizes, [2, 2, 1])
    assert.deepEqual(seen, made.toReversed())
    const first = Sandbox.list({ query: { metadata: { mark } }, limit: 3, order: 'asc' })
    assert.deepEqual(
      (await first.nextItems()).map(it => it.sandboxId),
      made.slice(0, 3)
    )
    assert.ok(first.nextToken)
    const rest = Sandbox.list({
      query: { metadata: { mark } },
      limit: 3,
      order: 'asc',
      nextToken: first.nextToken,
    })
    assert.deepEqual(
      (await rest.nextItems()).map(it => it.sandboxId),
      made.slice(3)
    )
    assert.equal(rest.hasNext, false)
  })

  test('a page says where the next one begins, and the last one nothing', async t => {
    const mark = fresh('mark')
    await Promise.all([sandbox(t, { metadata: { mark } }), sandbox(t, { metadata: { mark } })])
    const path = `/v2/sandboxes?limit=1&metadata=${encodeURIComponent(`mark=${mark}`)}`
    const first = await api('GET', path)
    const token = first.headers.get('X-Next-Token')
    assert.ok(token)
    const last = await api('GET', `${path}&nextToken=${encodeURIComponent(token)}`)
    assert.equal(last.headers.get('X-Next-Token') ?? '', '')
    assert.notEqual(last.json[0].sandboxID, first.json[0].sandboxID)
    assert.equal(first.headers.get('X-Total-Running'), '2')
  })

  test('a list by state tells the paused from the running', async t => {
    const mark = fresh('mark')
    const running = await sandbox(t, { metadata: { mark } })
    const paused = await sandbox(t, { metadata: { mark } })
    await paused.pause()
    const ids = async (state?: ('running' | 'paused')[]) =>
      (await all(Sandbox.list({ query: { metadata: { mark }, state } }))).map(it => it.sandboxId).sort()
    assert.deepEqual(await ids(['running']), [running.sandboxId])
    assert.deepEqual(await ids(['paused']), [paused.sandboxId])
    assert.deepEqual(await ids(['running', 'paused']), [running.sandboxId, paused.sandboxId].sort())
    assert.deepEqual(await ids(), [running.sandboxId, paused.sandboxId].sort())
  })

  test('a list by the time of the start includes that time', async t => {
    const mark = fresh('mark')
    const one = await sandbox(t, { metadata: { mark } })
    const two = await sandbox(t, { metadata: { mark } })
    const { startedAt } = await two.getInfo()
    const after = await all(Sandbox.list({ query: { metadata: { mark }, startedAfter: startedAt } }))
    assert.deepEqual(
      after.map(it => it.sandboxId),
      [two.sandboxId]
    )
    const later = new Date(startedAt.getTime() + 60_000)
    assert.deepEqual(await all(Sandbox.list({ query: { metadata: { mark }, startedAfter: later } })), [])
    assert.equal((await all(Sandbox.list({ query: { metadata: { mark } } }))).at(-1)?.sandboxId, one.sandboxId)
  })

  test('a list by template has those that were made of it', async t => {
    const mark = fresh('mark')
    const box = await sandbox(t, { metadata: { mark } })
    const of = async (template: string) =>
      (await all(Sandbox.list({ query: { metadata: { mark }, template } }))).map(it => it.sandboxId)
    assert.deepEqual(await of('base'), [box.sandboxId])
    assert.deepEqual(await of((await box.getInfo()).templateId), [box.sandboxId])
    assert.deepEqual(await of('code-interpreter-v1'), [])
  })

  test('a sandbox that was killed is in no list', async t => {
    const mark = fresh('mark')
    const box = await sandbox(t, { metadata: { mark } })
    await box.kill()
    assert.deepEqual(await all(Sandbox.list({ query: { metadata: { mark } } })), [])
  })

  for (const [what, query] of [
    ['a limit of 0', 'limit=0'],
    ['a limit above 100', 'limit=101'],
    ['a state that is none', 'state=sleeping'],
    ['a token that is none', 'nextToken=%21%21'],
    ['a time that is none', 'startedAfter=yesterday'],
    ['an order that is none', 'order=sideways'],
  ]) {
    test(`${what} is refused with 400`, async () => {
      const listed = await api('GET', `/v2/sandboxes?${query}`)
      assert.equal(listed.status, 400, listed.text)
      assert.equal(listed.json.code, 400)
    })
  }

  test('GET /sandboxes of older clients lists those that run', async t => {
    const mark = fresh('mark')
    const running = await sandbox(t, { metadata: { mark } })
    const paused = await sandbox(t, { metadata: { mark } })
    await paused.pause()
    const listed = await api('GET', `/sandboxes?metadata=${encodeURIComponent(`mark=${mark}`)}`)
    assert.equal(listed.status, 200, listed.text)
    assert.deepEqual(
      listed.json.map((it: { sandboxID: string }) => it.sandboxID),
      [running.sandboxId]
    )
  })
})

function seconds(from: Date, to: Date): number {
  return Math.round((to.getTime() - from.getTime()) / 1000)
}

/** Does something after which a sandbox has so long to live, counted from when it was done: however long that took. */
async function ends<T>(box: Sandbox, seconds: number, work: () => Promise<T>): Promise<T> {
  const before = Date.now()
  const result = await work()
  const after = Date.now()
  const end = (await box.getInfo()).endAt.getTime() - seconds * 1000
  assert.ok(end >= before - 1_000 && end <= after + 1_000, `it ends ${end - before} ms away from ${seconds} s`)
  return result
}

/** Looks at a sandbox until it is over: it was there before its end, and is not a second after it. */
async function endsAt(box: Sandbox, end: Date, uncertainMs = 0) {
  for (;;) {
    const asked = Date.now()
    const running = await box.isRunning()
    const answered = Date.now()
    if (!running) {
      assert.ok(answered >= end.getTime() - 100, `it was over ${end.getTime() - answered} ms before its end`)
      return
    }
    const late = asked - end.getTime() - uncertainMs
    assert.ok(late < 1_000, `it was there ${late} ms after its end`)
    await pause(25)
  }
}
