/** The server is killed with -9 and started again; run alone. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { CommandExitError, Sandbox, ServiceBusyError, Template, Volume, type CommandHandle } from 'e2b'
import { all, api, data, fails, fresh, needed, processes, run, sandbox, tokenOf, until } from './berth.ts'

async function order(what: 'kill' | 'start') {
  assert.equal((await fetch(`${needed('BERTH_CONTROL')}/${what}`, { method: 'POST' })).status, 204)
}

/** The process of a sandbox with this in its command line, as the machine sees it. */
async function onTheMachine(mark: string): Promise<number> {
  for (const pid of (await readdir('/proc')).filter(it => /^\d+$/.test(it))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (line.includes(mark)) {
      return Number(pid)
    }
  }
  assert.fail(`no process has ${mark}`)
}

describe('restart', () => {
  const name = fresh('tpl')
  let running: Sandbox
  let paused: Sandbox
  let timed: Sandbox
  let timedEnd: Date
  let background: CommandHandle
  let ending: CommandHandle
  let volume: Volume | undefined
  let snapshotId: string | undefined
  let address: string
  let streamEnd: Promise<unknown>
  const made: Sandbox[] = []

  before(async () => {
    const create = async (opts: object = {}) => {
      const box = await Sandbox.create({ timeoutMs: 600_000, ...opts })
      made.push(box)
      return box
    }
    volume = await Volume.create(fresh('vol'))
    await Template.build(Template().fromTemplate('base').runCmd('echo built > /tmp/built'), name)
    running = await create({ metadata: { kept: 'yes' }, envs: { KEPT: 'env' }, volumeMounts: { '/vol': volume } })
    paused = await create()
    timed = await create()
    timedEnd = (await timed.getInfo()).endAt
    await running.files.write('note.txt', 'before')
    await running.files.write('/vol/note.txt', 'in the volume')
    snapshotId = (await running.createSnapshot()).snapshotId
    background = await running.commands.run(
      'echo first; until [ -e /tmp/go ]; do sleep 0.1; done; echo second; exit 6',
      { background: true, timeoutMs: 0 }
    )
    const mark = fresh('ending')
    ending = await running.commands.run(`trap 'exit 9' TERM; echo set; while :; do sleep 0.05; done # ${mark}`, {
      background: true,
      timeoutMs: 0,
    })
    await paused.commands.run('exec sleep 5555', { background: true, timeoutMs: 0 })
    await paused.pause()
    await until(() => background.stdout.includes('first') && ending.stdout.includes('set'), 'they run')
    address = await running.downloadUrl('note.txt')
    streamEnd = background.wait().catch((it: unknown) => it)
    void ending.wait().catch(() => {})
    const pid = await onTheMachine(mark)
    await order('kill')
    process.kill(pid, 'SIGTERM')
    await until(() => !existsSync(`/proc/${pid}`), 'it ended while there was no server')
    await order('start')
  })

  after(async () => {
    await Promise.all(made.map(it => it.kill()))
    if (snapshotId) {
      await Sandbox.deleteSnapshot(snapshotId)
    }
    if (volume) {
      await Volume.destroy(volume.volumeId)
    }
    await api('DELETE', `/templates/${name}`)
  })

  test('a client in the middle of a stream is told, and does not hang', async () => {
    assert.ok((await streamEnd) instanceof Error)
  })

  test('a sandbox runs on, with its files, metadata and tokens', async () => {
    assert.equal(await running.isRunning(), true)
    assert.equal(await running.files.read('note.txt'), 'before')
    const info = await running.getInfo()
    assert.deepEqual(info.metadata, { kept: 'yes' })
    const same = await Sandbox.connect(running.sandboxId)
    assert.equal(tokenOf(same), tokenOf(running))
    assert.equal((await same.commands.run('echo $KEPT')).stdout, 'env\n')
  })

  test('a background command is there by its pid, and goes on', async () => {
    const listed = (await running.commands.list()).find(it => it.pid === background.pid)
    assert.ok(listed, 'it is in the list')
    assert.match(listed.args.join(' '), /second/)
    const again = await running.commands.connect(background.pid, { timeoutMs: 0 })
    await running.files.write('/tmp/go', '')
    const error = await fails(again.wait(), CommandExitError)
    assert.equal(error.exitCode, 6)
    assert.match(error.stdout, /second/)
  })

  test('what ended while nobody served it is told with its end', async () => {
    const again = await running.commands.connect(ending.pid, { timeoutMs: 10_000 })
    assert.equal((await fails(again.wait(), CommandExitError)).exitCode, 9)
  })

  test('a paused sandbox is paused still, and wakes with its memory', async () => {
    assert.equal((await paused.getInfo()).state, 'paused')
    await paused.connect({ timeoutMs: 600_000 })
    assert.equal(await processes(paused, 'sleep 5555'), 1)
  })

  test('a signed address is good still', async () => {
    assert.equal(await (await fetch(address)).text(), 'before')
  })

  test('a snapshot can be started', async () => {
    const box = await Sandbox.create(snapshotId!, { timeoutMs: 60_000 })
    made.push(box)
    assert.equal(await box.files.read('note.txt'), 'before')
  })

  test('a template can be started', async () => {
    const box = await Sandbox.create(name, { timeoutMs: 60_000 })
    made.push(box)
    assert.equal(await box.files.read('/tmp/built'), 'built\n')
  })

  test('a port is reached by its name, and by headers', async () => {
    const server = await running.commands.run('python3 -m http.server 8000 -d /home/user', { background: true, timeoutMs: 0 })
    await until(() => data(running, '/note.txt', {}, 8000).then(it => it.status === 200), 'it answers')
    assert.equal(await (await fetch(`https://${running.getHost(8000)}/note.txt`)).text(), 'before')
    await server.kill()
  })

  test('a volume has its files, and is mounted', async () => {
    assert.equal(await volume!.readFile('/note.txt'), 'in the volume')
    await volume!.writeFile('/after.txt', 'after')
    assert.equal((await running.commands.run('cat /vol/after.txt')).stdout, 'after')
  })

  test('new sandboxes are made, and watches work', async () => {
    const box = await Sandbox.create({ timeoutMs: 60_000 })
    made.push(box)
    const seen: string[] = []
    const handle = await box.files.watchDir('/tmp', it => void seen.push(it.name))
    await box.files.write('/tmp/f', 'x')
    await until(() => seen.includes('f'), 'it is seen')
    await handle.stop()
  })

  test('the time of a sandbox goes on running, and ends it', async () => {
    assert.deepEqual((await timed.getInfo()).endAt, timedEnd)
    await timed.setTimeout(1_000)
    await until(async () => !(await timed.isRunning()), 'it is over')
  })
})

describe('restart: of the database', () => {
  /** PostgreSQL takes no connections and has none: what it had is ended, so that nobody waits for one after the other. */
  async function withoutDatabase(work: () => Promise<void>) {
    const file = `${needed('BERTH_DATA')}/postgres/data/postmaster.pid`
    const pid = (await readFile(file, 'utf8')).split('\n')[0]!.trim()
    process.kill(Number(pid), 'SIGSTOP')
    try {
      const { stdout } = await run('pgrep', ['-P', pid])
      stdout.split('\n').filter(it => it).forEach(it => process.kill(Number(it), 'SIGKILL'))
      await work()
    } finally {
      process.kill(Number(pid), 'SIGCONT')
    }
  }

  test('a database that does not answer is a ServiceBusyError, and all is well when it does', async t => {
    const box = await sandbox(t)
    const mark = fresh('mark')
    await withoutDatabase(async () => {
      await fails(Sandbox.list().nextItems(), ServiceBusyError)
      const error = await fails(Sandbox.create({ timeoutMs: 60_000, metadata: { mark } }), ServiceBusyError)
      assert.equal(error.statusCode, 503)
      const raw = await api('GET', '/v2/sandboxes')
      assert.equal(raw.status, 503, raw.text)
      assert.equal(raw.json.code, 503)
      assert.match(raw.headers.get('retry-after') ?? '', /^\d+$/)
    })
    await until(() => Sandbox.list().nextItems().then(() => true, () => false), 'the database is back')
    assert.deepEqual(await all(Sandbox.list({ query: { metadata: { mark } } })), [], 'nothing was made')
    assert.equal((await box.commands.run('echo still here')).stdout, 'still here\n')
  })
})
