/** What a sandbox leaves behind or is asked about: snapshots, forks, metrics, logs, its network. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ALL_TRAFFIC, InvalidArgumentError, Sandbox, SandboxError, SandboxNotFoundError, Secret } from 'e2b'
import { all, api, data, fails, fresh, sandbox, shared, tenant, until, ZERO_ID } from './berth.ts'

describe('state: snapshots', { concurrency: 3 }, () => {
  async function snapshot(box: Sandbox, t: { after(fn: () => unknown): void }, name?: string) {
    const made = await box.createSnapshot(name ? { name } : {})
    t.after(() => Sandbox.deleteSnapshot(made.snapshotId))
    return made
  }

  test('a sandbox starts from a snapshot with its files', async t => {
    const box = await sandbox(t)
    await box.files.write('state.json', '{"step":1}')
    const made = await snapshot(box, t)
    assert.ok(made.snapshotId)
    await box.files.write('state.json', '{"step":2}')
    const from = await Sandbox.create(made.snapshotId, { timeoutMs: 60_000 })
    t.after(() => from.kill())
    assert.notEqual(from.sandboxId, box.sandboxId)
    assert.equal(await from.files.read('state.json'), '{"step":1}')
    assert.equal(await box.files.read('state.json'), '{"step":2}')
  })

  test('the sandbox goes on as it was', async t => {
    const box = await sandbox(t)
    const command = await box.commands.run('sleep 300', { background: true, timeoutMs: 0 })
    await snapshot(box, t)
    assert.equal(await box.isRunning(), true)
    assert.ok((await box.commands.list()).some(it => it.pid === command.pid))
  })

  test('a snapshot outlives its sandbox', async t => {
    const box = await sandbox(t)
    await box.files.write('note', 'kept')
    const made = await snapshot(box, t)
    await box.kill()
    const from = await Sandbox.create(made.snapshotId, { timeoutMs: 60_000 })
    t.after(() => from.kill())
    assert.equal(await from.files.read('note'), 'kept')
  })

  test('a snapshot has the name that it was given, and can be started by it', async t => {
    const box = await sandbox(t)
    await box.files.write('note', 'named')
    const name = fresh('snap')
    const made = await snapshot(box, t, name)
    assert.ok(
      made.names.some(it => it.includes(name)),
      JSON.stringify(made.names)
    )
    const from = await Sandbox.create(name, { timeoutMs: 60_000 })
    t.after(() => from.kill())
    assert.equal(await from.files.read('note'), 'named')
  })

  test('a name that is given again is that of the newer snapshot', async t => {
    const box = await sandbox(t)
    const name = fresh('again')
    await box.files.write('note', 'older')
    await box.createSnapshot({ name })
    await box.files.write('note', 'newer')
    await snapshot(box, t, name)
    const from = await Sandbox.create(name, { timeoutMs: 60_000 })
    t.after(() => from.kill())
    assert.equal(await from.files.read('note'), 'newer')
    assert.equal((await all(Sandbox.listSnapshots({ name }))).length, 1)
  })

  test('POST snapshots answers 201 with its id and names', async t => {
    const box = await sandbox(t)
    const made = await api('POST', `/sandboxes/${box.sandboxId}/snapshots`, {})
    assert.equal(made.status, 201, made.text)
    t.after(() => Sandbox.deleteSnapshot(made.json.snapshotID))
    assert.equal(typeof made.json.snapshotID, 'string')
    assert.ok(Array.isArray(made.json.names))
  })

  test('the snapshots of a sandbox are listed, page by page', async t => {
    const box = await sandbox(t)
    const made = [await snapshot(box, t), await snapshot(box, t), await snapshot(box, t)].map(it => it.snapshotId)
    const pages = box.listSnapshots({ limit: 2 })
    const first = await pages.nextItems()
    assert.equal(first.length, 2)
    assert.equal(pages.hasNext, true)
    const rest = await pages.nextItems()
    assert.equal(pages.hasNext, false)
    assert.deepEqual([...first, ...rest].map(it => it.snapshotId).sort(), made.sort())
  })

  test('snapshots are found by name, and among all', async t => {
    const box = await sandbox(t)
    const name = fresh('found')
    const made = await snapshot(box, t, name)
    const byName = await all(Sandbox.listSnapshots({ name }))
    assert.deepEqual(
      byName.map(it => it.snapshotId),
      [made.snapshotId]
    )
    assert.ok((await all(Sandbox.listSnapshots())).some(it => it.snapshotId === made.snapshotId))
  })

  test('a snapshot is deleted once', async t => {
    const box = await sandbox(t)
    const made = await box.createSnapshot()
    assert.equal(await Sandbox.deleteSnapshot(made.snapshotId), true)
    assert.equal(await Sandbox.deleteSnapshot(made.snapshotId), false)
    await fails(Sandbox.create(made.snapshotId), SandboxError, /^404: /)
    assert.deepEqual(await all(box.listSnapshots()), [])
  })

  test('a name that cannot be one is refused with 400', async t => {
    const box = await sandbox(t)
    const error = await fails(box.createSnapshot({ name: 'not a name!' }), SandboxError)
    assert.equal(error.statusCode, 400)
  })

  test('a snapshot of a sandbox that is not there is not found', async () => {
    await fails(Sandbox.createSnapshot(ZERO_ID), SandboxNotFoundError)
  })
})

describe('state: forks', { concurrency: 3 }, () => {
  test('a fork has the files of the original, and then its own', async t => {
    const box = await sandbox(t, { timeoutMs: 100_000, metadata: { of: 'fork' } })
    await box.files.write('note', 'before')
    const before = await box.getInfo()
    const asked = Date.now()
    const [fork] = await box.fork({ timeoutMs: 60_000 })
    const made = Date.now()
    assert.ok(fork instanceof Sandbox, String(fork))
    t.after(() => fork.kill())
    assert.notEqual(fork.sandboxId, box.sandboxId)
    await fork.files.write('note', 'after')
    assert.equal(await box.files.read('note'), 'before')
    assert.equal(await fork.files.read('note'), 'after')
    const info = await box.getInfo()
    assert.deepEqual([info.sandboxId, info.endAt], [before.sandboxId, before.endAt])
    const end = (await fork.getInfo()).endAt.getTime() - 60_000
    assert.ok(end >= asked - 1_000 && end <= made + 1_000, `it ends ${end - made} ms away from 60 s`)
  })

  test('several forks come at once', async t => {
    const box = await sandbox(t)
    await box.files.write('note', 'shared')
    const forks = await Sandbox.fork(box.sandboxId, { count: 3, timeoutMs: 60_000 })
    assert.equal(forks.length, 3)
    for (const fork of forks) {
      assert.ok(fork instanceof Sandbox, String(fork))
      t.after(() => fork.kill())
      assert.equal(await fork.files.read('note'), 'shared')
      assert.equal((await fork.commands.run('echo $E2B_SANDBOX_ID')).stdout.trim(), fork.sandboxId)
    }
    assert.equal(new Set(forks.map(it => (it as Sandbox).sandboxId)).size, 3)
  })

  test('a fork answers 201 with one result for each', async t => {
    const box = await sandbox(t)
    const forked = await api('POST', `/sandboxes/${box.sandboxId}/fork`, { count: 2, timeout: 30 })
    assert.equal(forked.status, 201, forked.text)
    assert.equal(forked.json.length, 2)
    for (const { sandbox: fork } of forked.json) {
      t.after(() => Sandbox.kill(fork.sandboxID))
      assert.equal(fork.envdVersion, '0.6.13')
      assert.equal(typeof fork.envdAccessToken, 'string')
    }
  })

  test('forks beyond the limit of a tenant are errors beside those that came', async t => {
    const apiKey = await tenant({ live: 2 })
    const box = await sandbox(t, { apiKey })
    const forked = await api('POST', `/sandboxes/${box.sandboxId}/fork`, { count: 3, timeout: 60 }, { 'X-API-Key': apiKey })
    assert.equal(forked.status, 201, forked.text)
    const made = forked.json.filter((it: { sandbox?: object }) => it.sandbox)
    for (const it of made) {
      t.after(() => Sandbox.kill(it.sandbox.sandboxID, { apiKey }))
    }
    assert.equal(made.length, 1, forked.text)
    const refused = forked.json.filter((it: { error?: object }) => it.error)
    assert.deepEqual(
      refused.map((it: any) => [it.error.code, typeof it.error.message]),
      [
        [429, 'string'],
        [429, 'string'],
      ]
    )
  })

  for (const count of [0, 101]) {
    test(`a count of ${count} is refused with 400`, async t => {
      const box = await sandbox(t)
      assert.equal((await api('POST', `/sandboxes/${box.sandboxId}/fork`, { count })).status, 400)
    })
  }

  test('a fork of a sandbox that is not there is not found, of a paused one a conflict', async t => {
    await fails(Sandbox.fork(ZERO_ID), SandboxNotFoundError)
    const box = await sandbox(t)
    await box.pause()
    const error = await fails(box.fork(), SandboxError)
    assert.equal(error.statusCode, 409)
  })
})

describe('state: metrics and logs', { concurrency: 4 }, () => {
  const box = shared({ envs: { METRIC: '1' } })

  test('metrics come within a few seconds, and tell what is used', async () => {
    await box().commands.run('head -c 50000000 /dev/urandom > used; sync')
    const busy = await box().commands.run('while :; do :; done', { background: true, timeoutMs: 0 })
    const info = await box().getInfo()
    let last: unknown
    const one = await until(
      async () => {
        const newest = (await box().getMetrics()).at(-1)
        last = newest
        return newest && newest.cpuUsedPct > 1 && newest.diskUsed > 50_000_000 && newest
      },
      () => `there is a metric with what is used: ${JSON.stringify(last)}`,
      60_000
    )
    await busy.kill()
    assert.ok(one.timestamp > info.startedAt && one.timestamp.getTime() < Date.now() + 1_000)
    assert.equal(one.cpuCount, info.cpuCount)
    assert.equal(one.memTotal, info.memoryMB * 2 ** 20)
    assert.ok(one.memUsed > 0 && one.memUsed <= one.memTotal)
    assert.ok(one.memCache >= 0)
    assert.ok(one.diskUsed <= one.diskTotal)
  })

  test('a metric on the wire has both times', async () => {
    const metrics = await until(async () => {
      const found = await api('GET', `/sandboxes/${box().sandboxId}/metrics`)
      return found.json.length > 0 && found.json
    }, 'there are metrics')
    assert.equal(Math.floor(Date.parse(metrics[0].timestamp) / 1000), metrics[0].timestampUnix)
  })

  test('metrics are some seconds apart, and can be had from a time on', async () => {
    const metrics = await until(async () => {
      const found = await box().getMetrics()
      return found.length >= 3 && found
    }, 'there are three')
    for (let at = 1; at < metrics.length; at++) {
      assert.ok(metrics[at]!.timestamp > metrics[at - 1]!.timestamp)
    }
    const start = metrics[1]!.timestamp
    const later = await box().getMetrics({ start: new Date(Math.ceil(start.getTime() / 1000) * 1000) })
    assert.ok(later.length > 0 && later.every(it => it.timestamp >= start), JSON.stringify(later))
  })

  test('metrics outside of its life are none', async () => {
    const start = new Date(Date.now() - 86_400_000)
    const end = new Date(Date.now() - 80_000_000)
    assert.deepEqual(await box().getMetrics({ start, end }), [])
  })

  test('metrics of a sandbox that is not there are not found', async () => {
    await fails(Sandbox.getMetrics(ZERO_ID), SandboxNotFoundError)
  })

  test('metrics of several sandboxes come in one answer', async () => {
    const answer = await until(async () => {
      const found = await api('GET', `/sandboxes/metrics?sandbox_ids=${box().sandboxId},${ZERO_ID}`)
      return found.status === 200 && found.json.sandboxes[box().sandboxId] && found
    }, 'there are metrics')
    assert.deepEqual(Object.keys(answer.json.sandboxes), [box().sandboxId])
  })

  test('logs are told, new and old', async () => {
    const logs = await until(async () => {
      const found = await api('GET', `/v2/sandboxes/${box().sandboxId}/logs`)
      assert.equal(found.status, 200, found.text)
      return found.json.logs.length > 0 && found.json.logs
    }, 'there are logs')
    assert.equal(typeof logs[0].message, 'string')
    assert.match(logs[0].level, /^(debug|info|warn|error)$/)
    assert.ok(Date.parse(logs[0].timestamp) > 0)
    assert.equal(typeof logs[0].fields, 'object')
    const old = await api('GET', `/sandboxes/${box().sandboxId}/logs`)
    assert.equal(old.status, 200)
    assert.ok(Array.isArray(old.json.logs) && Array.isArray(old.json.logEntries))
    assert.equal(typeof old.json.logs[0].line, 'string')
  })

  test('logs come in pages, forwards and backwards, by level and text', async t => {
    type Line = { timestamp: string; message: string }
    const own = await sandbox(t)
    await own.pause()
    await own.connect({ timeoutMs: 60_000 })
    const logs = async (query: string): Promise<Line[]> => {
      const found = await api('GET', `/v2/sandboxes/${own.sandboxId}/logs?${query}`)
      assert.equal(found.status, 200, found.text)
      return found.json.logs
    }
    const at = (it: Line) => Date.parse(it.timestamp)
    const whole = await until(async () => {
      const found = await logs('direction=forward')
      return found.some(it => it.message.includes('resume')) && found
    }, 'there is a line of its resume')
    assert.deepEqual(whole.map(at), whole.map(at).toSorted((a, b) => a - b))
    assert.deepEqual(await logs('direction=forward&limit=2'), whole.slice(0, 2))
    const middle = at(whole[1]!)
    assert.deepEqual(await logs(`direction=forward&limit=100&cursor=${middle}`), whole.filter(it => at(it) >= middle))
    const back = await logs(`direction=backward&limit=100&cursor=${middle}`)
    assert.deepEqual(back.map(at), whole.map(at).filter(it => it <= middle).toReversed())
    assert.deepEqual(await logs('level=error'), [])
    assert.deepEqual(await logs('search=PAUS'), whole.filter(it => it.message.includes('paus')))
    for (const query of ['direction=sideways', 'level=loud', 'cursor=now', 'limit=many']) {
      assert.equal((await api('GET', `/v2/sandboxes/${own.sandboxId}/logs?${query}`)).status, 400, query)
    }
    const old = await api('GET', `/sandboxes/${own.sandboxId}/logs?start=${middle}&limit=1`)
    assert.deepEqual(old.json.logEntries, whole.filter(it => at(it) >= middle).slice(0, 1))
    assert.equal(old.json.logs.length, 1)
  })

  test('logs of a sandbox that is not there are not found', async () => {
    assert.equal((await api('GET', `/v2/sandboxes/${ZERO_ID}/logs`)).status, 404)
    assert.equal((await api('GET', `/sandboxes/${ZERO_ID}/logs`)).status, 404)
  })

  test('the environment and the use of a sandbox are told inside its data plane', async () => {
    const envs = await data(box(), '/envs')
    assert.equal(envs.status, 200)
    assert.equal(envs.json.METRIC, '1')
    const metrics = await data(box(), '/metrics')
    assert.equal(metrics.status, 200)
    for (const name of ['ts', 'cpu_count', 'cpu_used_pct', 'mem_total', 'mem_used', 'mem_cache', 'mem_total_mib', 'mem_used_mib', 'disk_used', 'disk_total']) {
      assert.equal(typeof metrics.json[name], 'number', name)
    }
    assert.equal((await data(box().sandboxId, '/envs')).status, 401)
    assert.equal((await data(box().sandboxId, '/metrics')).status, 401)
  })
})

describe('state: network', { concurrency: 3 }, () => {
  test('what was asked for at the start is told again', async t => {
    const box = await sandbox(t, { network: { allowOut: ['1.1.1.1', '8.8.8.0/24'], denyOut: [ALL_TRAFFIC] } })
    const { network } = await box.getInfo()
    assert.deepEqual(network?.allowOut, ['1.1.1.1', '8.8.8.0/24'])
    assert.deepEqual(network?.denyOut, ['0.0.0.0/0'])
  })

  test('updateNetwork replaces all of it', async t => {
    const box = await sandbox(t, { network: { denyOut: ['1.1.1.1'] } })
    await box.updateNetwork({ allowOut: ['9.9.9.9'], denyOut: ({ allTraffic }) => [allTraffic] })
    assert.deepEqual((await box.getInfo()).network?.allowOut, ['9.9.9.9'])
    assert.deepEqual((await box.getInfo()).network?.denyOut, [ALL_TRAFFIC])
    await Sandbox.updateNetwork(box.sandboxId, {})
    const { network } = await box.getInfo()
    assert.ok(!network?.allowOut?.length && !network?.denyOut?.length)
  })

  test('a network is not changed while its sandbox is paused: 409', async t => {
    const box = await sandbox(t)
    await box.pause()
    const error = await fails(box.updateNetwork({ denyOut: ['1.1.1.1'] }), SandboxError)
    assert.equal(error.statusCode, 409)
  })

  test('PUT network answers 204, and 404 when it is not there', async t => {
    const box = await sandbox(t)
    assert.equal((await api('PUT', `/sandboxes/${box.sandboxId}/network`, { denyOut: ['1.1.1.1'] })).status, 204)
    await fails(Sandbox.updateNetwork(ZERO_ID, {}), SandboxNotFoundError)
  })

  test('without internet access nothing is reached', async t => {
    const box = await sandbox(t, { allowInternetAccess: false })
    assert.equal((await box.getInfo()).allowInternetAccess, false)
    // Where this machine reaches nothing itself, only the way out tells the difference.
    const ways = 'grep -c . /proc/net/route; curl -s -m 3 -o /dev/null http://1.1.1.1/ && echo reached || true'
    assert.equal((await box.commands.run(ways)).stdout, '1\n', 'there is the head of the table alone')
    const open = await sandbox(t)
    assert.notEqual((await open.commands.run(ways)).stdout.split('\n')[0], '1')
    await open.updateNetwork({ allowInternetAccess: false })
    assert.equal((await open.getInfo()).allowInternetAccess, false)
    assert.equal((await open.commands.run('curl -s -m 3 -o /dev/null http://1.1.1.1/ && echo reached || true')).stdout, '')
  })

  test('the loopback inside works whatever is denied', async t => {
    const box = await sandbox(t, { allowInternetAccess: false })
    await box.commands.run('python3 -m http.server 8000 -d /etc', { background: true, timeoutMs: 0 })
    await until(
      () => box.commands.run('curl -sf http://127.0.0.1:8000/hostname').then(
        () => true,
        () => false
      ),
      'it answers'
    )
  })

  test('a header with a secret is told by the name of the secret alone', async t => {
    const name = fresh('header-key')
    const secret = await Secret.create(name, 'v4lue-of-it')
    t.after(() => Secret.destroy(secret.secretId))
    const rules = { 'api.example.com': [{ transform: { headers: { 'X-Key': Secret.fill(name) } } }] }
    const box = await sandbox(t, { network: { allowOut: ['api.example.com'], denyOut: [ALL_TRAFFIC], rules } })
    assert.deepEqual((await box.getInfo()).network?.rules, rules)
    const raw = await api('GET', `/sandboxes/${box.sandboxId}`)
    assert.ok(!raw.text.includes('v4lue-of-it'))
    assert.equal((await box.commands.run('env | grep -c v4lue-of-it || true')).stdout, '0\n')
  })

  test('ports that speak TLS themselves are refused with 400', async () => {
    const error = await fails(Sandbox.create({ network: { httpsPorts: [8443] } } as object), SandboxError, /httpsPorts/)
    assert.equal(error.statusCode, 400)
  })

  test('a name that is allowed where nothing is denied is refused with 400', async () => {
    const error = await fails(Sandbox.create({ network: { allowOut: ['example.com'] } }), SandboxError, /ALL_TRAFFIC/)
    assert.equal(error.statusCode, 400)
  })

  test('addresses that are none are refused with 400', async () => {
    const error = await fails(Sandbox.create({ network: { denyOut: ['not an address'] } }), SandboxError)
    assert.equal(error.statusCode, 400)
  })

  test('what hides in a rule is checked by the SDK', async () => {
    await fails(
      Sandbox.create({
        network: { rules: { 'api.example.com': [{ transform: ({ iam }) => ({ headers: { A: iam.tokens.none! } }) }] } },
      }),
      InvalidArgumentError,
      /not registered/
    )
    assert.deepEqual(Secret.iamToken({ audience: 'a', tokenType: 'JWT-SVID' }), { audience: 'a', tokenType: 'JWT-SVID' })
  })

  test('a proxy on the way out is refused, and its password not told', async () => {
    const made = await api('POST', '/v2/sandboxes', {
      templateID: 'base',
      timeout: 60,
      network: { egressProxy: { address: '192.0.2.1:1080', username: 'u', password: 'p4ssw0rd' } },
    })
    assert.equal(made.status, 400, made.text)
    assert.match(made.json.message, /egressProxy is not supported/)
    assert.ok(!made.text.includes('p4ssw0rd'))
  })
})
