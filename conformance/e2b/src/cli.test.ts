/** E2B's own command line tool, as npm has it. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { spawn } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { Sandbox, Template } from 'e2b'
import { api, fresh, run, sandbox, until } from './berth.ts'

describe('cli', { concurrency: 2 }, () => {
  const program = join(dirname(createRequire(import.meta.url).resolve('@e2b/cli/package.json')), 'dist/index.js')
  let home: string
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'e2b-cli-'))
  })
  after(() => rm(home, { recursive: true }))

  async function e2b(...words: string[]) {
    const env = { ...process.env, HOME: home, NO_COLOR: '1', NODE_TEST_CONTEXT: undefined }
    const running = run(process.execPath, [program, ...words], { env, timeout: 60_000, maxBuffer: 64 << 20 })
    running.child.stdin?.end() // what is no terminal is passed on to the command until its end
    return running
  }

  test('sandbox list shows what runs', async t => {
    const mark = fresh('mark')
    const box = await sandbox(t, { metadata: { mark } })
    const pretty = await e2b('sandbox', 'list')
    assert.ok(pretty.stdout.includes(box.sandboxId), pretty.stdout)
    const json = JSON.parse((await e2b('sandbox', 'list', '--format', 'json', '--metadata', `mark=${mark}`)).stdout)
    assert.deepEqual(
      json.map((it: { sandboxId: string }) => it.sandboxId),
      [box.sandboxId]
    )
  })

  test('sandbox list shows what is paused, when that is asked for', async t => {
    const mark = fresh('mark')
    const box = await sandbox(t, { metadata: { mark } })
    await box.pause()
    const list = async (state: string) =>
      JSON.parse((await e2b('sandbox', 'list', '-f', 'json', '-m', `mark=${mark}`, '-s', state)).stdout || '[]')
    assert.equal((await list('paused')).length, 1)
    assert.equal((await list('running')).length, 0)
  })

  test('sandbox connect is a terminal in it', async t => {
    const box = await sandbox(t)
    // 'script' gives it a terminal of its own.
    const line = [process.execPath, program, 'sandbox', 'connect', box.sandboxId].map(it => `'${it}'`).join(' ')
    const terminal = spawn('script', ['-qec', line, '/dev/null'], {
      env: { ...process.env, HOME: home, NODE_TEST_CONTEXT: undefined },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    t.after(() => terminal.kill('SIGKILL'))
    let said = ''
    terminal.stdout.on('data', (it: Buffer) => (said += it.toString()))
    const closed = new Promise<number | null>(resolve => terminal.once('exit', code => resolve(code)))
    await until(() => /user@.*\$|[$#] $/.test(said), () => `there is a prompt; it said ${said}`, 30_000)
    terminal.stdin.write('echo "it is $E2B_SANDBOX_ID"; id -un\n')
    await until(() => said.includes(`it is ${box.sandboxId}`), () => `it answers; it said ${said}`, 30_000)
    terminal.stdin.write('exit\n')
    assert.equal(await closed, 0)
    assert.equal(await box.isRunning(), true)
  })

  test('sandbox exec runs a command and has its exit code', async t => {
    const box = await sandbox(t)
    const ran = await e2b('sandbox', 'exec', box.sandboxId, 'echo', 'from the tool')
    assert.match(ran.stdout, /from the tool/)
    await assert.rejects(e2b('sandbox', 'exec', '-u', 'root', box.sandboxId, 'bash', '-c', 'exit 3'), { code: 3 })
  })

  test('sandbox logs shows them', async t => {
    const box = await sandbox(t)
    await box.commands.run('true')
    const [line] = (await api('GET', `/v2/sandboxes/${box.sandboxId}/logs`)).json.logs
    assert.ok((await e2b('sandbox', 'logs', '--format', 'json', box.sandboxId)).stdout.includes(line.message))
    assert.ok((await e2b('sandbox', 'logs', box.sandboxId)).stdout.includes(line.message))
  })

  test('sandbox metrics shows them', async t => {
    const box = await sandbox(t)
    await until(async () => (await box.getMetrics()).length > 0, 'there are metrics')
    assert.match((await e2b('sandbox', 'metrics', box.sandboxId)).stdout, /CPU/i)
  })

  test('sandbox info, pause and resume', async t => {
    const box = await sandbox(t)
    const info = JSON.parse((await e2b('sandbox', 'info', '-f', 'json', box.sandboxId)).stdout)
    assert.equal(info.sandboxId, box.sandboxId)
    await e2b('sandbox', 'pause', box.sandboxId)
    assert.equal((await box.getInfo()).state, 'paused')
    await e2b('sandbox', 'resume', box.sandboxId)
    assert.equal((await box.getInfo()).state, 'running')
  })

  test('sandbox create makes one', async t => {
    const made = await e2b('sandbox', 'create', '--detach', 'base')
    const id = /i[a-z0-9]{20}/.exec(made.stdout + made.stderr)?.[0]
    assert.ok(id, made.stdout)
    t.after(() => Sandbox.kill(id))
    assert.equal((await Sandbox.getInfo(id)).state, 'running')
  })

  test('sandbox kill kills it, and says so when there is none', async t => {
    const box = await sandbox(t)
    await e2b('sandbox', 'kill', box.sandboxId)
    assert.equal(await box.isRunning(), false)
    const again = await e2b('sandbox', 'kill', box.sandboxId).catch((it: { stdout: string; stderr: string }) => it)
    assert.match(again.stdout + again.stderr, /wasn't found|not found/)
  })

  test('template publish and delete', async () => {
    const name = fresh('tpl')
    const { templateId } = await Template.build(Template().fromTemplate('base').runCmd(`: ${name}`), name)
    await e2b('template', 'publish', '-y', templateId)
    assert.equal((await api('GET', `/templates/${templateId}`)).json.public, true)
    await e2b('template', 'delete', '-y', templateId)
    assert.equal(await Template.exists(name), false)
  })

  test('template list shows base', async () => {
    assert.match((await e2b('template', 'list')).stdout, /base/)
  })
})
