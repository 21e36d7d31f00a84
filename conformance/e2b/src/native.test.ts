/** A sandbox of the SDK is a session like any other: in the API, in the command line, in the quotas. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { Sandbox, SandboxNotFoundError } from 'e2b'
import { fails, key, needed, run, sandbox, url } from './berth.ts'

describe('native', { concurrency: 2 }, () => {
  async function native(method: string, path: string, body?: unknown) {
    const answer = await fetch(url + path, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await answer.text()
    return { status: answer.status, text, json: text.startsWith('{') ? JSON.parse(text) : undefined }
  }

  async function berth(...words: string[]) {
    const [program, ...before] = JSON.parse(needed('BERTH_CLI')) as string[]
    const env = { ...process.env, BERTH_URL: url, BERTH_API_KEY: key }
    return run(program!, [...before, ...words], { env, timeout: 60_000 })
  }

  test('the key is of the form that all of E2B’s clients take', () => {
    assert.match(key, /^e2b_[0-9a-f]{40}$/)
  })

  test('a key of Berth’s own form is as good for the SDK', async t => {
    const apiKey = (await readFile(`${needed('BERTH_DATA')}/keys/api`, 'utf8')).trim()
    assert.match(apiKey, /^berth_/)
    const box = await sandbox(t, { apiKey })
    assert.equal((await box.commands.run('echo in')).stdout, 'in\n')
  })

  test('it is in the list of sessions of the API', async t => {
    const box = await sandbox(t)
    const listed = await native('GET', '/v1/sessions')
    assert.equal(listed.status, 200, listed.text)
    assert.ok(listed.json.sessions.some((it: { session_id: string }) => it.session_id === box.sandboxId))
    const shown = await native('GET', `/v1/sessions/${box.sandboxId}`)
    assert.equal(shown.json.state, 'active')
  })

  test('tools of the API run in it, on the same files', async t => {
    const box = await sandbox(t)
    await box.files.write('/home/user/by-sdk.txt', 'from the SDK')
    const ran = await native('POST', '/v1/sandbox/bash', {
      session_id: box.sandboxId,
      command: 'cat /home/user/by-sdk.txt; echo from the API > /home/user/by-api.txt',
    })
    assert.equal(ran.status, 200, ran.text)
    assert.match(ran.json.stdout, /from the SDK/)
    assert.equal(await box.files.read('/home/user/by-api.txt'), 'from the API\n')
  })

  test('what the API pauses and resumes the SDK sees, and the other way round', async t => {
    const box = await sandbox(t)
    assert.ok((await native('POST', `/v1/sessions/${box.sandboxId}/pause`)).status < 300)
    assert.equal((await box.getInfo()).state, 'paused')
    await box.connect({ timeoutMs: 60_000 })
    assert.equal((await native('GET', `/v1/sessions/${box.sandboxId}`)).json.state, 'active')
    await box.pause()
    assert.equal((await native('GET', `/v1/sessions/${box.sandboxId}`)).json.state, 'paused')
  })

  test('what the API deletes is gone for the SDK, and the other way round', async t => {
    const one = await sandbox(t)
    assert.ok((await native('DELETE', `/v1/sessions/${one.sandboxId}`)).status < 300)
    assert.equal(await one.isRunning(), false)
    await fails(Sandbox.getInfo(one.sandboxId), SandboxNotFoundError)
    assert.equal(await one.kill(), false)
    const two = await sandbox(t)
    await two.kill()
    const shown = await native('GET', `/v1/sessions/${two.sandboxId}`)
    assert.equal(shown.status, 404, shown.text)
  })

  test('a session of the API is none of E2B’s sandboxes', async t => {
    const id = `native-${Math.random().toString(36).slice(2)}`
    t.after(() => native('DELETE', `/v1/sessions/${id}`))
    const ran = await native('POST', '/v1/sandbox/bash', { session_id: id, command: 'true' })
    assert.equal(ran.status, 200, ran.text)
    const listed = await Sandbox.list({ limit: 100 }).nextItems()
    assert.ok(!listed.some(it => it.sandboxId === id))
  })

  test('the command line lists it and runs in it', async t => {
    const box = await sandbox(t)
    const listed = await berth('session', 'ls')
    assert.ok(listed.stdout.includes(box.sandboxId.slice(0, 12)), listed.stdout)
    const ran = await berth('exec', box.sandboxId, 'echo "in $(hostname)"')
    assert.match(ran.stdout, /^in /)
    await berth('session', 'rm', box.sandboxId)
    assert.equal(await box.isRunning(), false)
  })
})
