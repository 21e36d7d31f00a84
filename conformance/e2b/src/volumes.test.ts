import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { AuthenticationError, Sandbox, SandboxError, Volume, VolumeError, VolumeFileType, VolumeNotFoundError, VolumePathNotFoundError } from 'e2b'
import { api, fails, fresh, sandbox, tenant, text } from './berth.ts'

describe('volumes', { concurrency: 3 }, () => {
  // Destroyed when all cases are over, because a volume cannot go before the sandboxes that it is mounted in.
  const volumes: Volume[] = []
  after(() => Promise.all(volumes.map(it => Volume.destroy(it.volumeId))))

  async function volume(): Promise<Volume> {
    const made = await Volume.create(fresh('vol'))
    volumes.push(made)
    return made
  }

  test('a volume is made, listed, told and destroyed', async () => {
    const name = fresh('vol')
    const made = await Volume.create(name)
    assert.equal(made.name, name)
    assert.ok(made.volumeId && made.token)
    assert.ok((await Volume.list()).some(it => it.volumeId === made.volumeId && it.name === name))
    const info = await Volume.getInfo(made.volumeId)
    assert.equal(info.name, name)
    assert.ok(info.token)
    assert.equal(await Volume.destroy(made.volumeId), true)
    assert.equal(await Volume.destroy(made.volumeId), false)
    await fails(Volume.getInfo(made.volumeId), VolumeNotFoundError)
    assert.ok(!(await Volume.list()).some(it => it.volumeId === made.volumeId))
  })

  test('POST /volumes answers 201 with all of it', async t => {
    const name = fresh('vol')
    const made = await api('POST', '/volumes', { name })
    assert.equal(made.status, 201, made.text)
    t.after(() => Volume.destroy(made.json.volumeID))
    assert.equal(made.json.name, name)
    assert.equal(typeof made.json.volumeID, 'string')
    assert.equal(typeof made.json.token, 'string')
  })

  test('a volume names the domain of its content, so that its token goes nowhere else', async t => {
    const one = await volume()
    const box = await sandbox(t)
    assert.notEqual(box.sandboxDomain, 'e2b.app')
    assert.equal(one.domain, box.sandboxDomain)
    assert.equal((await Volume.connect(one.volumeId)).domain, box.sandboxDomain)
    const listed = (await api('GET', '/volumes')).json.find((it: { volumeID: string }) => it.volumeID === one.volumeId)
    assert.equal(listed.domain, box.sandboxDomain)
    assert.ok(!('token' in listed))
  })

  test('a volume that a sandbox has is not destroyed', async t => {
    const one = await volume()
    const box = await sandbox(t, { volumeMounts: { '/vol': one } })
    await fails(Volume.destroy(one.volumeId), VolumeError, /^409: /)
    await box.pause({ keepMemory: false })
    await fails(Volume.destroy(one.volumeId), VolumeError, /^409: /)
    await box.kill()
    assert.equal(await Volume.destroy(one.volumeId), true)
  })

  test('a volume of another tenant is not there', async () => {
    const one = await volume()
    const apiKey = await tenant({ live: 1 })
    await fails(Volume.getInfo(one.volumeId, { apiKey }), VolumeNotFoundError)
    assert.equal(await Volume.destroy(one.volumeId, { apiKey }), false)
    assert.deepEqual(await Volume.list({ apiKey }), [])
    const error = await fails(Sandbox.create({ apiKey, volumeMounts: { '/vol': one.name } }), SandboxError)
    assert.equal(error.statusCode, 400)
  })

  test('a name that is taken, or none, is a VolumeError', async () => {
    const one = await volume()
    await fails(Volume.create(one.name), VolumeError)
    await fails(Volume.create('not a name/'), VolumeError)
    await fails(Volume.create(''), VolumeError)
  })

  test('a volume is connected to by its id', async () => {
    const one = await volume()
    await one.writeFile('/note.txt', 'kept')
    const same = await Volume.connect(one.volumeId)
    assert.equal(same.name, one.name)
    assert.equal(await same.readFile('/note.txt'), 'kept')
    await fails(Volume.connect('nothing'), VolumeNotFoundError)
  })

  test('files are written and read in every format', async () => {
    const one = await volume()
    const stat = await one.writeFile('/a.txt', 'hello')
    assert.equal(stat.name, 'a.txt')
    assert.equal(stat.path, '/a.txt')
    assert.equal(stat.type, VolumeFileType.FILE)
    assert.equal(stat.size, 5)
    assert.ok(stat.mtime instanceof Date && !Number.isNaN(stat.mtime.getTime()))
    assert.equal(await one.readFile('/a.txt'), 'hello')
    assert.equal((await one.readFile('/a.txt', { format: 'bytes' })).length, 5)
    assert.equal(await (await one.readFile('/a.txt', { format: 'blob' })).text(), 'hello')
    assert.equal(await text(await one.readFile('/a.txt', { format: 'stream' })), 'hello')
    await fails(one.writeFile('/a.txt', 'again'), VolumeError, /^409: /)
    await one.writeFile('/a.txt', new Blob(['by', ' stream']).stream() as ReadableStream<Uint8Array>, { force: true })
    assert.equal(await one.readFile('/a.txt'), 'by stream')
    await one.writeFile('/empty', '')
    assert.equal(await one.readFile('/empty'), '')
    await one.writeFile('/buffer', new TextEncoder().encode('buffer').buffer as ArrayBuffer)
    assert.equal(await one.readFile('/buffer'), 'buffer')
  })

  test('a large file goes through whole', async () => {
    const one = await volume()
    const bytes = new Uint8Array(12 << 20).map((_, index) => index & 255)
    await one.writeFile('/large', new Blob([bytes]))
    assert.deepEqual(await one.readFile('/large', { format: 'bytes' }), bytes)
  })

  test('directories are made and listed, as deep as is asked', async () => {
    const one = await volume()
    const made = await one.makeDir('/d')
    assert.equal(made.type, VolumeFileType.DIRECTORY)
    await one.makeDir('/d/e/f', { force: true })
    await one.writeFile('/d/e/x', 'x')
    assert.deepEqual((await one.list('/d')).map(it => it.path), ['/d/e'])
    assert.deepEqual((await one.list('/', { depth: 4 })).map(it => it.path).sort(), ['/d', '/d/e', '/d/e/f', '/d/e/x'])
    await fails(one.list('/nowhere'), VolumePathNotFoundError)
  })

  test('getInfo, exists, updateMetadata and remove', async () => {
    const one = await volume()
    await one.writeFile('/f', 'x', { mode: 0o600, uid: 1000, gid: 1000 })
    let info = await one.getInfo('/f')
    assert.equal(info.mode & 0o777, 0o600)
    assert.equal(info.uid, 1000)
    info = await one.updateMetadata('/f', { mode: 0o640, uid: 1001, gid: 1002 })
    assert.deepEqual([info.mode & 0o777, info.uid, info.gid], [0o640, 1001, 1002])
    assert.equal(await one.exists('/f'), true)
    await one.remove('/f')
    assert.equal(await one.exists('/f'), false)
    await fails(one.getInfo('/f'), VolumePathNotFoundError)
    await fails(one.readFile('/f'), VolumePathNotFoundError)
    await fails(one.readFile('/f', { format: 'stream' }), VolumePathNotFoundError)
    await fails(one.updateMetadata('/f', { mode: 0o600 }), VolumePathNotFoundError)
    await fails(one.remove('/f'), VolumePathNotFoundError)
  })

  test('the content of a volume needs its own token', async () => {
    const one = await volume()
    const two = await volume()
    await one.writeFile('/f', 'x')
    await fails(one.readFile('/f', { token: 'wrong' }), AuthenticationError)
    await fails(one.readFile('/f', { token: two.token }), AuthenticationError)
  })

  test('no path and no link leads out of a volume', async t => {
    const one = await volume()
    await one.writeFile('/f', 'x')
    for (const path of ['/../../etc/passwd', '../../../etc/passwd', '/f/../../../../etc/passwd']) {
      await fails(one.readFile(path), VolumePathNotFoundError)
    }
    const box = await sandbox(t, { volumeMounts: { '/vol': one } })
    await box.commands.run('ln -s /etc/passwd /vol/absolute; ln -s ../../../../etc/passwd /vol/relative; ln -s .. /vol/up')
    await fails(one.readFile('/absolute'), VolumePathNotFoundError)
    await fails(one.readFile('/relative'), VolumePathNotFoundError)
    await fails(one.readFile('/up/etc/passwd'), VolumePathNotFoundError)
  })

  test('a volume is mounted in a sandbox, and in the next one', async t => {
    const one = await volume()
    await one.writeFile('/from-outside', 'seen inside')
    const first = await sandbox(t, { volumeMounts: { '/mnt/data': one } })
    assert.deepEqual((await first.getInfo()).volumeMounts, [{ name: one.name, path: '/mnt/data' }])
    assert.equal((await first.commands.run('cat /mnt/data/from-outside')).stdout, 'seen inside')
    await first.commands.run('echo written > /mnt/data/from-inside')
    assert.equal(await one.readFile('/from-inside'), 'written\n')
    await first.kill()
    const second = await sandbox(t, { volumeMounts: { '/mnt/data': one.name } })
    assert.equal(await second.files.read('/mnt/data/from-inside'), 'written\n')
  })

  test('two sandboxes share a volume at the same time', async t => {
    const one = await volume()
    const [a, b] = await Promise.all([
      sandbox(t, { volumeMounts: { '/shared': one } }),
      sandbox(t, { volumeMounts: { '/shared': one } }),
    ])
    await a.files.write('/shared/note', 'from a')
    assert.equal(await b.files.read('/shared/note'), 'from a')
  })

  test('nothing in a volume lends rights or is a device', async t => {
    const one = await volume()
    const box = await sandbox(t, { volumeMounts: { '/vol': one } })
    const { stdout } = await box.commands.run("grep ' /vol ' /proc/mounts")
    assert.match(stdout, /\bnosuid\b/)
    assert.match(stdout, /\bnodev\b/)
  })

  test('a volume stays mounted through pause and reboot', async t => {
    const one = await volume()
    const box = await sandbox(t, { volumeMounts: { '/vol': one } })
    await box.pause({ keepMemory: false })
    await one.writeFile('/while-paused', 'x')
    await box.connect({ timeoutMs: 60_000 })
    assert.equal((await box.commands.run('cat /vol/while-paused')).stdout, 'x')
  })

  test('a sandbox with a volume that is not there is refused', async () => {
    const error = await fails(Sandbox.create({ volumeMounts: { '/mnt/x': fresh('none') } }), SandboxError)
    assert.equal(error.statusCode, 400)
  })
})
