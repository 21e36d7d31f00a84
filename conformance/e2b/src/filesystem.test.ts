import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  AuthenticationError,
  FileNotFoundError,
  FileType,
  FilesystemEventType,
  InvalidArgumentError,
  NotEnoughSpaceError,
  SandboxNotFoundError,
  TimeoutError,
  type FilesystemEvent,
  type Sandbox,
} from 'e2b'
import { data, fails, fresh, route, sandbox, shared, stream, text, tokenOf, unary, until, url } from './berth.ts'

describe('filesystem: read and write', { concurrency: 4 }, () => {
  const box = shared()

  test('what is written is read', async () => {
    const info = await box().files.write('greeting.txt', 'hello\n')
    assert.deepEqual(info, { name: 'greeting.txt', type: 'file', path: '/home/user/greeting.txt', metadata: undefined })
    assert.equal(await box().files.read('greeting.txt'), 'hello\n')
  })

  test('a write answers with exactly name, type and path', async () => {
    const form = new FormData()
    form.append('file', new Blob(['x']), '/tmp/raw.txt')
    const written = await data(box(), '/files?path=/tmp/raw.txt', { method: 'POST', body: form })
    assert.equal(written.status, 200, written.text)
    assert.deepEqual(written.json, [{ name: 'raw.txt', type: 'file', path: '/tmp/raw.txt' }])
  })

  test('a write overwrites and truncates', async () => {
    const path = fresh('/tmp/over')
    await box().files.write(path, 'a long text that was there')
    await box().files.write(path, 'short')
    assert.equal(await box().files.read(path), 'short')
  })

  test('a write makes the directories above, and they are the user’s', async () => {
    const dir = fresh('deep')
    await box().files.write(`${dir}/b/c.txt`, 'x')
    const made = await box().commands.run(`stat -c '%U %a' ${dir} ${dir}/b ${dir}/b/c.txt`)
    assert.equal(made.stdout, 'user 755\nuser 755\nuser 644\n')
  })

  test('the default user writes where only root may', async () => {
    const dir = `/${fresh('zero')}`
    await box().files.write(`${dir}/file`, 'x')
    assert.equal((await box().commands.run(`stat -c %U ${dir}/file`)).stdout, 'user\n')
  })

  test('a write as root is root’s, relative to its home', async () => {
    const info = await box().files.write('of-root.txt', 'x', { user: 'root' })
    assert.equal(info.path, '/root/of-root.txt')
    assert.equal((await box().commands.run('stat -c %U /root/of-root.txt', { user: 'root' })).stdout, 'root\n')
    assert.equal(await box().files.read('of-root.txt', { user: 'root' }), 'x')
  })

  test('a tilde is the home', async () => {
    await box().files.write('~/tilde.txt', 'home')
    assert.equal(await box().files.read('/home/user/tilde.txt'), 'home')
    assert.equal(await box().files.read('~/tilde.txt'), 'home')
  })

  test('it reads bytes, a blob and a stream', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    const path = fresh('/tmp/bytes')
    await box().files.write(path, bytes.buffer)
    assert.deepEqual(await box().files.read(path, { format: 'bytes' }), bytes)
    const blob = await box().files.read(path, { format: 'blob' })
    assert.deepEqual(new Uint8Array(await blob.arrayBuffer()), bytes)
    const streamed = await box().files.read(path, { format: 'stream' })
    assert.deepEqual(new Uint8Array(await new Response(streamed as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer()), bytes)
  })

  test('an empty file is empty in every format', async () => {
    const path = fresh('/tmp/empty')
    await box().files.write(path, '')
    assert.equal(await box().files.read(path), '')
    assert.equal((await box().files.read(path, { format: 'bytes' })).length, 0)
    assert.equal((await box().files.read(path, { format: 'blob' })).size, 0)
    assert.equal(await text(await box().files.read(path, { format: 'stream' })), '')
    const raw = await data(box(), `/files?path=${path}`)
    assert.equal(raw.headers.get('content-length'), '0')
  })

  test('it writes an ArrayBuffer, a Blob and a stream', async () => {
    const path = fresh('/tmp/kinds')
    await box().files.write(`${path}-buffer`, new TextEncoder().encode('buffer').buffer)
    await box().files.write(`${path}-blob`, new Blob(['blob']))
    await box().files.write(`${path}-stream`, new Blob(['str', 'eam']).stream())
    await box().files.write(`${path}-octets`, 'octets', { useOctetStream: true })
    for (const kind of ['buffer', 'blob', 'stream', 'octets']) {
      assert.equal(await box().files.read(`${path}-${kind}`), kind)
    }
  })

  test('a large stream goes up and down whole', async () => {
    const path = fresh('/tmp/large')
    const piece = new Uint8Array(1 << 20).map((_, index) => (index * 7) & 255)
    let left = 48
    const source = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) {
          controller.enqueue(piece)
        } else {
          controller.close()
        }
      },
    })
    await box().files.write(path, source)
    assert.equal((await box().files.getInfo(path)).size, 48 << 20)
    let read = 0
    for await (const chunk of (await box().files.read(path, { format: 'stream' })) as unknown as AsyncIterable<Uint8Array>) {
      read += chunk.length
    }
    assert.equal(read, 48 << 20)
    await box().files.remove(path)
  })

  test('gzip goes up and comes down', async () => {
    const path = fresh('/tmp/zipped')
    const content = 'the same again and again\n'.repeat(10_000)
    await box().files.write(path, content, { gzip: true })
    assert.equal((await box().files.getInfo(path)).size, content.length)
    assert.equal(await box().files.read(path, { gzip: true }), content)
    const raw = await fetch(`${url}/files?path=${path}`, { headers: { ...route(box()), 'Accept-Encoding': 'gzip' } })
    assert.equal(raw.headers.get('content-encoding'), 'gzip')
    assert.match(raw.headers.get('vary') ?? '', /accept-encoding/i)
    assert.equal(await raw.text(), content)
  })

  test('a body that is not gzip although it says so is refused', async () => {
    const written = await data(box(), '/files?path=/tmp/no.gz', {
      method: 'POST',
      headers: { 'Content-Type': 'application/octet-stream', 'Content-Encoding': 'gzip' },
      body: 'not at all',
    })
    assert.equal(written.status, 400, written.text)
  })

  test('a multipart body may be gzip too', async () => {
    const body =
      '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nzipped form\r\n--b--\r\n'
    const written = await data(box(), '/files?path=/tmp/zipped-form', {
      method: 'POST',
      headers: { 'Content-Type': 'multipart/form-data; boundary=b', 'Content-Encoding': 'gzip' },
      body: gzipSync(body),
    })
    assert.equal(written.status, 200, written.text)
    assert.equal(await box().files.read('/tmp/zipped-form'), 'zipped form')
  })

  test('an encoding that nobody knows is 406', async () => {
    await box().files.write('/tmp/plain', 'x')
    const read = await data(box(), '/files?path=/tmp/plain', { headers: { 'Accept-Encoding': 'identity;q=0, br' } })
    assert.equal(read.status, 406, read.text)
  })

  test('several files are put together to one', async () => {
    const dir = fresh('/tmp/parts')
    await box().files.write([
      { path: `${dir}/1`, data: 'first ' },
      { path: `${dir}/2`, data: 'second' },
    ])
    const compose = (body: object) =>
      data(box(), '/files/compose', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
    const made = await compose({ source_paths: [`${dir}/1`, `${dir}/2`], destination: `${dir}/whole` })
    assert.equal(made.status, 200, made.text)
    assert.equal(await box().files.read(`${dir}/whole`), 'first second')
    assert.equal((await compose({ source_paths: [], destination: `${dir}/none` })).status, 400)
    assert.equal((await compose({ source_paths: [`${dir}/3`], destination: `${dir}/none` })).status, 404)
  })

  test('many files are written in one call', async () => {
    const dir = fresh('/tmp/many')
    const files = Array.from({ length: 20 }, (_, index) => ({ path: `${dir}/${index}/f.txt`, data: `file ${index}` }))
    const infos = await box().files.writeFiles(files)
    assert.deepEqual(
      infos.map(it => it.path),
      files.map(it => it.path)
    )
    assert.equal(await box().files.read(`${dir}/7/f.txt`), 'file 7')
    assert.deepEqual(await box().files.write([]), [])
    const two = await box().files.write([
      { path: `${dir}/a`, data: new Blob(['a']) },
      { path: 'relative-of-many', data: new TextEncoder().encode('b').buffer },
    ])
    assert.deepEqual(
      two.map(it => it.path),
      [`${dir}/a`, '/home/user/relative-of-many']
    )
  })

  test('the same path twice in one call is refused', async () => {
    await fails(
      box().files.write([
        { path: '/tmp/twice', data: '1' },
        { path: '/tmp/twice', data: '2' },
      ]),
      InvalidArgumentError
    )
  })

  test('what is not there is FileNotFound, and 404 in JSON', async () => {
    await fails(box().files.read('/no/such/file'), FileNotFoundError, /path '\/no\/such\/file' does not exist/)
    const read = await data(box(), '/files?path=/no/such/file')
    assert.equal(read.status, 404)
    assert.deepEqual(read.json, { code: 404, message: "path '/no/such/file' does not exist" })
    await assert.rejects(box().files.read('/no/such/file', { format: 'stream' }), { name: 'FileNotFoundError' })
  })

  test('a directory cannot be read or written as a file', async () => {
    await fails(box().files.read('/tmp'), InvalidArgumentError)
    await fails(box().files.write('/tmp', 'x'), InvalidArgumentError)
  })

  test('a file is no directory that could be written into', async () => {
    await box().files.write('/tmp/a-file', 'x')
    await assert.rejects(box().files.write('/tmp/a-file/below', 'x'), { name: 'InvalidArgumentError' })
  })

  test('a user that is not there is refused with 401', async () => {
    await fails(box().files.read('/etc/hostname', { user: 'nobody-at-all' }), AuthenticationError)
    assert.equal((await data(box(), '/files?path=/etc/hostname&username=nobody-at-all')).status, 401)
  })

  test('a part of a file is read by its range', async () => {
    await box().files.write('/tmp/range', '0123456789')
    const part = await data(box(), '/files?path=/tmp/range', { headers: { Range: 'bytes=2-5' } })
    assert.equal(part.status, 206)
    assert.equal(part.text, '2345')
    assert.equal(part.headers.get('content-range'), 'bytes 2-5/10')
    const beyond = await data(box(), '/files?path=/tmp/range', { headers: { Range: 'bytes=20-30' } })
    assert.equal(beyond.status, 416)
  })

  test('a file that did not change is not sent again', async () => {
    await box().files.write('/tmp/unchanged', 'x')
    const plain = { 'Accept-Encoding': 'identity' }
    const first = await data(box(), '/files?path=/tmp/unchanged', { headers: plain })
    const since = first.headers.get('last-modified')
    assert.ok(since)
    const again = await data(box(), '/files?path=/tmp/unchanged', { headers: { ...plain, 'If-Modified-Since': since } })
    assert.equal(again.status, 304)
  })

  test('answers and errors may be read by pages of anywhere', async () => {
    await box().files.write('/tmp/cors', 'x')
    for (const path of ['/files?path=/tmp/cors', '/files?path=/nowhere', '/filesystem.Filesystem/Stat']) {
      const answer = await data(box(), path, { headers: { Origin: 'https://example.org' } })
      assert.equal(answer.headers.get('access-control-allow-origin'), '*', path)
    }
  })

  test('a download says the name of the file', async () => {
    await box().files.write('/tmp/named.txt', 'x')
    const read = await data(box(), '/files?path=/tmp/named.txt')
    assert.match(read.headers.get('content-disposition') ?? '', /^inline; filename="?named\.txt"?$/)
  })

  test('names with spaces, quotes, percent signs and beyond ASCII are names', async () => {
    for (const name of ['with space', 'q"uote', "apos'trophe", '100%25', 'ünï→😀', 'a+b&c=d', '#?']) {
      const path = `/tmp/names/${name}`
      const info = await box().files.write(path, name)
      assert.equal(info.path, path)
      assert.equal(await box().files.read(path), name)
      assert.equal(await box().files.exists(path), true)
    }
    const listed = (await box().files.list('/tmp/names')).map(it => it.name)
    assert.ok(listed.includes('ünï→😀'))
  })

  test('a full disk is NotEnoughSpace, and 507', async t => {
    const full = await sandbox(t)
    let left = 400
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) {
          controller.enqueue(Buffer.alloc(1 << 20, left & 255))
        } else {
          controller.close()
        }
      },
    })
    await fails(full.files.write('/home/user/big', endless), NotEnoughSpaceError)
    const raw = await data(full, '/files?path=/home/user/more', {
      method: 'POST',
      headers: { 'Content-Type': 'application/octet-stream' },
      body: new Uint8Array(300 << 20),
    })
    assert.equal(raw.status, 507, raw.text)
    assert.equal(raw.json.code, 507)
    await full.commands.run('rm -f /home/user/big /home/user/more')
    await full.files.write('small', 'fits again')
    assert.equal(await full.files.read('small'), 'fits again')
  })

  test('what is asked of a sandbox that was killed is a TimeoutError', async t => {
    const gone = await sandbox(t)
    await gone.kill()
    await fails(gone.files.read('/etc/hostname'), TimeoutError)
    await fails(gone.files.write('x', 'y'), TimeoutError)
    await fails(gone.files.list('/'), TimeoutError)
    await fails(
      gone.files.watchDir('/', () => {}),
      SandboxNotFoundError
    )
  })
})

describe('filesystem: entries', { concurrency: 4 }, () => {
  const box = shared()

  test('getInfo of a file tells everything of it', async () => {
    const path = fresh('/tmp/info')
    await box().files.write(path, '12345')
    const info = await box().files.getInfo(path)
    assert.ok(info.modifiedTime && Math.abs(info.modifiedTime.getTime() - Date.now()) < 60_000)
    assert.deepEqual(
      { ...info, modifiedTime: undefined },
      {
        name: path.split('/').pop(),
        type: FileType.FILE,
        path,
        size: 5,
        mode: 0o644,
        permissions: '-rw-r--r--',
        owner: 'user',
        group: 'user',
        modifiedTime: undefined,
        symlinkTarget: undefined,
        metadata: undefined,
      }
    )
  })

  test('getInfo of a directory', async () => {
    const info = await box().files.getInfo('/home/user')
    assert.equal(info.type, FileType.DIR)
    assert.equal(info.permissions[0], 'd')
    assert.equal(info.name, 'user')
    assert.equal(info.owner, 'user')
  })

  test('getInfo of a link tells where it leads, and what is there', async () => {
    const dir = fresh('/tmp/links')
    await box().files.write(`${dir}/target`, 'four')
    await box().commands.run(`chmod 600 ${dir}/target; ln -s target ${dir}/one; ln -s one ${dir}/two`)
    const info = await box().files.getInfo(`${dir}/two`)
    assert.equal(info.type, FileType.FILE)
    assert.equal(info.mode, 0o600)
    assert.equal(info.symlinkTarget, `${dir}/target`)
    assert.equal(info.permissions, 'Lrwxrwxrwx')
    assert.equal(info.path, `${dir}/two`)
    assert.equal(info.size, 3)
  })

  test('sizes beyond 32 bits are right, as strings on the wire', async () => {
    const path = fresh('/tmp/sparse')
    await box().commands.run(`truncate -s 5G ${path}`)
    assert.equal((await box().files.getInfo(path)).size, 5 * 2 ** 30)
    const raw = await unary(box(), 'filesystem.Filesystem/Stat', { path })
    assert.equal(raw.json.entry.size, String(5 * 2 ** 30))
    assert.equal(raw.json.entry.type, 'FILE_TYPE_FILE')
    assert.match(raw.json.entry.modifiedTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
  })

  test('modes and owners are those inside', async () => {
    const path = fresh('/tmp/modes')
    await box().files.write(path, '#!/bin/sh\n')
    await box().commands.run(`sudo chmod 4755 ${path}; sudo chown root:daemon ${path}; sudo chmod 4750 ${path}`)
    const info = await box().files.getInfo(path)
    assert.equal(info.mode & 0o777, 0o750)
    assert.equal(info.owner, 'root')
    assert.equal(info.group, 'daemon')
  })

  test('a link that leads nowhere is there', async () => {
    const path = fresh('/tmp/dangling')
    await box().commands.run(`ln -s /no/such/place ${path}`)
    assert.equal(await box().files.exists(path), true)
    // The SDK lists only what it knows the type of, and the type of a link is that of what it leads to.
    const listed = await unary(box(), 'filesystem.Filesystem/ListDir', { path: '/tmp' })
    assert.ok(listed.json.entries.some((it: { path: string }) => it.path === path), listed.text)
  })

  test('exists is true, and false when nothing is there', async () => {
    assert.equal(await box().files.exists('/etc/passwd'), true)
    assert.equal(await box().files.exists('/home'), true)
    assert.equal(await box().files.exists('/no/such/place'), false)
  })

  test('getInfo of what is not there is FileNotFound', async () => {
    await fails(box().files.getInfo('/no/such/place'), FileNotFoundError, /file not found/)
  })

  test('list has a directory’s entries in order', async () => {
    const dir = fresh('/tmp/list')
    for (const name of ['b.txt', 'a.txt', 'c/d.txt']) {
      await box().files.write(`${dir}/${name}`, name)
    }
    const entries = await box().files.list(dir)
    assert.deepEqual(
      entries.map(it => [it.name, it.type, it.path]),
      [
        ['a.txt', 'file', `${dir}/a.txt`],
        ['b.txt', 'file', `${dir}/b.txt`],
        ['c', 'dir', `${dir}/c`],
      ]
    )
    assert.equal(entries[0]!.size, 5)
  })

  test('list goes as deep as is asked, depth first', async () => {
    const dir = fresh('/tmp/deep')
    await box().commands.run(`mkdir -p ${dir}/a/b/c ${dir}/d; touch ${dir}/a/x ${dir}/a/b/y ${dir}/a/b/c/z ${dir}/e`)
    const names = async (depth: number) => (await box().files.list(dir, { depth })).map(it => it.path.slice(dir.length + 1))
    assert.deepEqual(await names(1), ['a', 'd', 'e'])
    assert.deepEqual(await names(2), ['a', 'a/b', 'a/x', 'd', 'e'])
    assert.deepEqual(await names(4), ['a', 'a/b', 'a/b/c', 'a/b/c/z', 'a/b/y', 'a/x', 'd', 'e'])
    await fails(box().files.list(dir, { depth: 0 }), InvalidArgumentError)
    const raw = await unary(box(), 'filesystem.Filesystem/ListDir', { path: dir })
    assert.equal(raw.json.entries.length, 3)
  })

  test('list through a link keeps the path that was asked for', async () => {
    const dir = fresh('/tmp/real')
    await box().files.write(`${dir}/f`, '')
    await box().commands.run(`ln -s ${dir} ${dir}-link; ln -s ${dir} ${dir}/self`)
    const entries = await box().files.list(`${dir}-link`)
    assert.deepEqual(
      entries.map(it => it.path),
      [`${dir}-link/f`, `${dir}-link/self`]
    )
    assert.equal(entries[1]!.symlinkTarget, dir)
    const deep = await box().files.list(dir, { depth: 5 })
    assert.equal(deep.length, 2, 'links inside are not followed')
  })

  test('list of a relative path is below the home', async () => {
    await box().files.write('below/home.txt', '')
    assert.deepEqual(
      (await box().files.list('below')).map(it => it.path),
      ['/home/user/below/home.txt']
    )
  })

  test('no path at all is the home', async () => {
    const name = fresh('in-home')
    await box().files.write(name, '')
    const raw = await unary(box(), 'filesystem.Filesystem/ListDir', { path: '' })
    assert.equal(raw.status, 200, raw.text)
    const listed = raw.json.entries.find((it: { name: string }) => it.name === name)
    assert.equal(listed?.path, `/home/user/${name}`)
    assert.equal((await unary(box(), 'filesystem.Filesystem/Stat', { path: '' })).json.entry.path, '/home/user')
  })

  test('list of a file is an invalid argument, of nothing FileNotFound', async () => {
    await fails(box().files.list('/etc/passwd'), InvalidArgumentError)
    await fails(box().files.list('/no/such/place'), FileNotFoundError)
  })

  test('an empty directory has no entries', async () => {
    const dir = fresh('/tmp/nothing')
    await box().files.makeDir(dir)
    assert.deepEqual(await box().files.list(dir), [])
  })

  test('makeDir makes all on the way, and is false when it is there', async () => {
    const dir = fresh('made')
    assert.equal(await box().files.makeDir(`${dir}/b/c`), true)
    assert.equal(await box().files.makeDir(`${dir}/b/c`), false)
    assert.equal((await box().commands.run(`stat -c '%U %a' ${dir} ${dir}/b/c`)).stdout, 'user 755\nuser 755\n')
    const raw = await unary(box(), 'filesystem.Filesystem/MakeDir', { path: dir })
    assert.equal(raw.status, 409)
    assert.equal(raw.json.code, 'already_exists')
  })

  test('makeDir where a file is is an invalid argument', async () => {
    await fails(box().files.makeDir('/etc/passwd'), InvalidArgumentError)
  })

  test('makeDir as root is root’s', async () => {
    const dir = fresh('/tmp/of-root')
    await box().files.makeDir(dir, { user: 'root' })
    assert.equal((await box().files.getInfo(dir)).owner, 'root')
  })

  test('rename moves a file, and makes the directory it goes to', async () => {
    const dir = fresh('/tmp/move')
    await box().files.write(`${dir}/a`, 'content')
    const info = await box().files.rename(`${dir}/a`, `${dir}/new/place/b`)
    assert.equal(info.path, `${dir}/new/place/b`)
    assert.equal(info.name, 'b')
    assert.equal(info.size, 7)
    assert.equal(await box().files.exists(`${dir}/a`), false)
    assert.equal(await box().files.read(`${dir}/new/place/b`), 'content')
  })

  test('rename puts a file in the place of another', async () => {
    const dir = fresh('/tmp/replace')
    await box().files.write(`${dir}/new`, 'new')
    await box().files.write(`${dir}/old`, 'old')
    await box().files.rename(`${dir}/new`, `${dir}/old`)
    assert.equal(await box().files.read(`${dir}/old`), 'new')
    assert.equal(await box().files.exists(`${dir}/new`), false)
  })

  test('rename moves a directory with all that is in it', async () => {
    const dir = fresh('/tmp/movedir')
    await box().files.write(`${dir}/in/file`, 'x')
    const info = await box().files.rename(dir, `${dir}-moved`)
    assert.equal(info.type, FileType.DIR)
    assert.equal(await box().files.read(`${dir}-moved/in/file`), 'x')
  })

  test('rename of what is not there is FileNotFound', async () => {
    await fails(box().files.rename('/no/such/place', '/tmp/x'), FileNotFoundError)
  })

  test('remove removes files and directories, and what is not there', async () => {
    const dir = fresh('/tmp/remove')
    await box().files.write(`${dir}/a/b`, '')
    await box().files.remove(`${dir}/a/b`)
    assert.equal(await box().files.exists(`${dir}/a/b`), false)
    await box().files.remove(dir)
    assert.equal(await box().files.exists(dir), false)
    await box().files.remove(dir)
  })

  test('remove of a link leaves what it leads to', async () => {
    const dir = fresh('/tmp/unlink')
    await box().files.write(`${dir}/target/f`, '')
    await box().commands.run(`ln -s ${dir}/target ${dir}/link`)
    await box().files.remove(`${dir}/link`)
    assert.equal(await box().files.exists(`${dir}/target/f`), true)
  })

  test('a link cannot lead out of the sandbox', async () => {
    const { stdout: own } = await box().commands.run(
      'ln -sfn /proc/1/root/etc/passwd /tmp/out; ln -sfn ../../../../../../etc/passwd /tmp/up; ln -sfn /proc/1/root/tmp /tmp/outside; cat /etc/passwd'
    )
    assert.equal(await box().files.read('/tmp/up'), own)
    assert.equal(await box().files.read('/tmp/out').catch(() => own), own)
    const name = fresh('planted')
    await box().files.write(`/tmp/outside/${name}`, 'x').catch(() => {})
    await box().files.write(`/tmp/../../../tmp/${name}`, 'x')
    assert.equal(await box().files.read(`/tmp/${name}`), 'x')
    assert.equal(existsSync(`/tmp/${name}`), false, 'it is on the machine')
  })
})

describe('filesystem: metadata', { concurrency: 4 }, () => {
  const box = shared()

  test('metadata of an upload stays on the file', async () => {
    const path = fresh('/tmp/meta')
    const written = await box().files.write(path, 'x', { metadata: { Author: 'ada', topic: 'a b=c' } })
    assert.deepEqual(written.metadata, { author: 'ada', topic: 'a b=c' })
    assert.deepEqual((await box().files.getInfo(path)).metadata, { author: 'ada', topic: 'a b=c' })
    const listed = (await box().files.list('/tmp')).find(it => it.path === path)
    assert.deepEqual(listed?.metadata, { author: 'ada', topic: 'a b=c' })
    assert.deepEqual((await box().files.rename(path, `${path}-2`)).metadata, { author: 'ada', topic: 'a b=c' })
  })

  test('it is an extended attribute, also when someone else set it', async () => {
    const path = fresh('/tmp/xattr')
    await box().files.write(path, 'x', { metadata: { a: '1' } })
    const python = `import os; p='${path}'; print(os.getxattr(p,'user.e2b.a').decode()); os.setxattr(p,'user.e2b.b',b'2'); os.setxattr(p,'user.other',b'3')`
    assert.equal((await box().commands.run(`python3 -c "${python}"`)).stdout, '1\n')
    assert.deepEqual((await box().files.getInfo(path)).metadata, { a: '1', b: '2' })
  })

  test('each upload replaces all of it, and one without clears it', async () => {
    const path = fresh('/tmp/replace')
    await box().files.write(path, 'x', { metadata: { a: '1', b: '2' } })
    await box().files.write(path, 'x', { metadata: { c: '3' }, useOctetStream: true })
    assert.deepEqual((await box().files.getInfo(path)).metadata, { c: '3' })
    await box().files.write(path, 'x')
    assert.equal((await box().files.getInfo(path)).metadata, undefined)
  })

  test('all files of one upload have it', async () => {
    const dir = fresh('/tmp/metas')
    await box().files.write(
      [
        { path: `${dir}/1`, data: '1' },
        { path: `${dir}/2`, data: '2' },
      ],
      { metadata: { k: 'v' } }
    )
    for (const entry of await box().files.list(dir)) {
      assert.deepEqual(entry.metadata, { k: 'v' })
    }
  })

  test('what does not fit is refused: a key, and all together', async () => {
    await fails(box().files.write('/tmp/key', 'x', { metadata: { ['k'.repeat(247)]: 'v' } }), InvalidArgumentError)
    await fails(box().files.write('/tmp/sum', 'x', { metadata: { k: 'v'.repeat(4097) } }), InvalidArgumentError)
    await fails(box().files.write('/tmp/ascii', 'x', { metadata: { k: 'ü' } }), InvalidArgumentError)
  })
})

describe('filesystem: watch', { concurrency: 4 }, () => {
  const box = shared()

  async function watched(dir: string, opts: Parameters<Sandbox['files']['watchDir']>[2] = {}) {
    const events: FilesystemEvent[] = []
    const handle = await box().files.watchDir(dir, it => void events.push(it), opts)
    const sees = (type: FilesystemEventType, name: string) =>
      until(
        () => events.find(it => it.type === type && it.name === name),
        () => `${type} of ${name} is seen; seen was ${JSON.stringify(events)}`
      )
    return { events, handle, sees }
  }

  test('it tells of what is created, written, renamed, removed and changed', async () => {
    const dir = fresh('/tmp/watch')
    await box().files.makeDir(dir)
    const { sees, handle } = await watched(dir)
    await box().files.write(`${dir}/new.txt`, 'x')
    await sees(FilesystemEventType.CREATE, 'new.txt')
    await sees(FilesystemEventType.WRITE, 'new.txt')
    await box().commands.run(`chmod 600 ${dir}/new.txt`)
    await sees(FilesystemEventType.CHMOD, 'new.txt')
    await box().files.rename(`${dir}/new.txt`, `${dir}/other.txt`)
    await sees(FilesystemEventType.RENAME, 'new.txt')
    await sees(FilesystemEventType.CREATE, 'other.txt')
    await box().files.remove(`${dir}/other.txt`)
    await sees(FilesystemEventType.REMOVE, 'other.txt')
    await handle.stop()
  })

  test('what programs inside do is seen as well', async () => {
    const dir = fresh('/tmp/inside')
    await box().files.makeDir(dir)
    const { sees, handle } = await watched(dir)
    await box().commands.run(`echo x > ${dir}/by-shell`)
    await sees(FilesystemEventType.CREATE, 'by-shell')
    await sees(FilesystemEventType.WRITE, 'by-shell')
    await handle.stop()
  })

  test('without recursive it does not see below', async () => {
    const dir = fresh('/tmp/flat')
    await box().files.makeDir(`${dir}/sub`)
    const { sees, handle, events } = await watched(dir)
    await box().files.write(`${dir}/sub/hidden`, 'x')
    await box().files.write(`${dir}/seen`, 'x')
    await sees(FilesystemEventType.CREATE, 'seen')
    assert.ok(!events.some(it => it.name.includes('hidden')))
    await handle.stop()
  })

  test('with recursive it sees below, also in directories made later', async () => {
    const dir = fresh('/tmp/tree')
    await box().files.makeDir(`${dir}/old`)
    const { sees, handle, events } = await watched(dir, { recursive: true })
    await box().files.write(`${dir}/old/a`, 'x')
    await sees(FilesystemEventType.WRITE, 'old/a')
    await box().commands.run(`mkdir ${dir}/new`)
    await sees(FilesystemEventType.CREATE, 'new')
    await box().files.write(`${dir}/new/b`, 'x')
    await sees(FilesystemEventType.WRITE, 'new/b')
    await box().commands.run(`mkdir -p ${dir}/new/deep/er`)
    await sees(FilesystemEventType.CREATE, 'new/deep')
    // Directories that come all at once are found one after the other; what is written before is not told.
    await until(async () => {
      await box().files.write(`${dir}/new/deep/er/c`, 'x')
      return events.some(it => it.type === FilesystemEventType.WRITE && it.name === 'new/deep/er/c')
    }, 'what is written below is seen')
    await handle.stop()
  })

  test('with includeEntry an event says what the file is', async () => {
    const dir = fresh('/tmp/entries')
    await box().files.makeDir(dir)
    const { sees, handle } = await watched(dir, { includeEntry: true })
    await box().files.write(`${dir}/f`, '12345')
    const event = await sees(FilesystemEventType.WRITE, 'f')
    assert.equal(event.entry?.path, `${dir}/f`)
    assert.equal(event.entry?.type, FileType.FILE)
    await box().files.remove(`${dir}/f`)
    assert.equal((await sees(FilesystemEventType.REMOVE, 'f')).entry, undefined)
    await box().files.write(`${dir}/g`, '')
    await box().files.rename(`${dir}/g`, `${dir}/h`)
    assert.equal((await sees(FilesystemEventType.RENAME, 'g')).entry, undefined)
    await handle.stop()
  })

  test('after stop nothing is told', async () => {
    const dir = fresh('/tmp/stopped')
    await box().files.makeDir(dir)
    let ended = false
    const { handle, events } = await watched(dir, { onExit: () => void (ended = true) })
    await handle.stop()
    await until(() => ended, 'onExit is called')
    const other = await watched(dir)
    await box().files.write(`${dir}/f`, 'x')
    await other.sees(FilesystemEventType.WRITE, 'f')
    await other.handle.stop()
    assert.deepEqual(events, [])
  })

  test('a watch ends at its timeout, with that error', async () => {
    const dir = fresh('/tmp/timed')
    await box().files.makeDir(dir)
    let reason: Error | undefined
    await watched(dir, { timeoutMs: 700, onExit: it => void (reason = it) })
    await until(() => reason, 'it ended')
    assert.ok(reason instanceof TimeoutError)
  })

  test('where network mounts would be allowed, everything else is watched as ever', async () => {
    const dir = fresh('/tmp/mounts')
    await box().files.makeDir(dir)
    const { sees, handle } = await watched(dir, { allowNetworkMounts: true })
    await box().files.write(`${dir}/f`, '')
    await sees(FilesystemEventType.CREATE, 'f')
    await handle.stop()
  })

  test('a watch in silence is kept alive as often as the client wants', async () => {
    const dir = fresh('/tmp/silent')
    await box().files.makeDir(dir)
    const { envelopes } = await stream(
      box(),
      'filesystem.Filesystem/WatchDir',
      { path: dir },
      { 'Keepalive-Ping-Interval': '1', 'Connect-Timeout-Ms': '4500' }
    )
    assert.deepEqual(envelopes[0]!.json, { start: {} })
    assert.ok(envelopes.filter(it => it.json.keepalive).length >= 2)
    assert.equal(envelopes.at(-1)!.json.error.code, 'deadline_exceeded')
  })

  test('what is not there, and what is a file, cannot be watched', async () => {
    await fails(
      box().files.watchDir('/no/such/place', () => {}),
      FileNotFoundError
    )
    await fails(
      box().files.watchDir('/etc/passwd', () => {}),
      InvalidArgumentError
    )
  })

  test('a watch in a sandbox that is killed ends with a TimeoutError', async t => {
    const dying = await sandbox(t)
    let reason: Error | undefined
    await dying.files.watchDir('/tmp', () => {}, { onExit: it => void (reason = it) })
    await dying.kill()
    await until(() => reason, 'it ended')
    assert.ok(reason instanceof TimeoutError, String(reason))
  })

  test('the polling watcher of the Python SDK works', async () => {
    const dir = fresh('/tmp/polled')
    await box().files.makeDir(dir)
    const made = await unary(box(), 'filesystem.Filesystem/CreateWatcher', { path: dir })
    assert.equal(made.status, 200, made.text)
    const { watcherId } = made.json
    assert.match(watcherId, /^w/)
    await box().files.write(`${dir}/f`, 'x')
    await until(async () => {
      const polled = await unary(box(), 'filesystem.Filesystem/GetWatcherEvents', { watcherId })
      return (polled.json.events ?? []).some((it: { name: string }) => it.name === 'f')
    }, 'the event is polled')
    assert.equal((await unary(box(), 'filesystem.Filesystem/RemoveWatcher', { watcherId })).status, 200)
    const gone = await unary(box(), 'filesystem.Filesystem/GetWatcherEvents', { watcherId })
    assert.equal(gone.status, 404)
    assert.equal(gone.json.code, 'not_found')
  })
})

describe('filesystem: signed addresses', { concurrency: 4 }, () => {
  const box = shared()

  test('a signed address is read by anyone', async () => {
    await box().files.write('/tmp/signed.txt', 'for you')
    const read = await fetch(await box().downloadUrl('/tmp/signed.txt'))
    assert.equal(read.status, 200)
    assert.equal(await read.text(), 'for you')
  })

  test('a signed address is written to by anyone, as a form', async () => {
    const form = new FormData()
    form.append('file', new Blob(['from outside']), 'ignored.txt')
    const written = await fetch(await box().uploadUrl('/tmp/uploaded.txt'), { method: 'POST', body: form })
    assert.equal(written.status, 200, await written.clone().text())
    assert.equal(await box().files.read('/tmp/uploaded.txt'), 'from outside')
  })

  test('an upload without a path takes it from the form', async () => {
    const form = new FormData()
    form.append('file', new Blob(['1']), 'dir/by-name-1.txt')
    form.append('file', new Blob(['2']), '/tmp/by-name-2.txt')
    const written = await fetch(await box().uploadUrl(), { method: 'POST', body: form })
    assert.equal(written.status, 200, await written.clone().text())
    assert.equal(await box().files.read('/home/user/dir/by-name-1.txt'), '1')
    assert.equal(await box().files.read('/tmp/by-name-2.txt'), '2')
  })

  test('a signed address for a user is that user’s', async () => {
    const form = new FormData()
    form.append('file', new Blob(['x']), 'x')
    await fetch(await box().uploadUrl('as-root.txt', { user: 'root' }), { method: 'POST', body: form })
    assert.equal((await box().commands.run('stat -c %U /root/as-root.txt', { user: 'root' })).stdout, 'root\n')
    assert.equal(await (await fetch(await box().downloadUrl('as-root.txt', { user: 'root' }))).text(), 'x')
  })

  test('with an expiry it works until then', async () => {
    await box().files.write('/tmp/expiring', 'x')
    const address = await box().downloadUrl('/tmp/expiring', { useSignatureExpiration: 100 })
    assert.match(address, /signature_expiration=\d+/)
    assert.equal((await fetch(address)).status, 200)
  })

  test('after its expiry it is refused with the text that clients know', async () => {
    await box().files.write('/tmp/expired', 'x')
    const address = await box().downloadUrl('/tmp/expired', { useSignatureExpiration: -10 })
    const read = await fetch(address)
    assert.equal(read.status, 401)
    assert.deepEqual(await read.json(), { code: 401, message: 'signature is already expired' })
  })

  test('a signature is for one path, one operation, one user and one time', async () => {
    await box().files.write('/tmp/one', 'x')
    const address = new URL(await box().downloadUrl('/tmp/one', { useSignatureExpiration: 60 }))
    const changed = (name: string, value: string) => {
      const other = new URL(address)
      other.searchParams.set(name, value)
      return other
    }
    assert.equal((await fetch(changed('path', '/etc/passwd'))).status, 401)
    assert.equal((await fetch(changed('username', 'root'))).status, 401)
    assert.equal((await fetch(changed('signature_expiration', '9999999999'))).status, 401)
    const form = new FormData()
    form.append('file', new Blob(['x']), 'x')
    assert.equal((await fetch(address, { method: 'POST', body: form })).status, 401)
    const forged = new URL(`${url}/files?path=/tmp/one&signature=v1_AAAA`)
    assert.equal((await fetch(forged)).status, 401)
  })

  test('without a token or a signature nobody reads', async () => {
    const read = await data(box().sandboxId, '/files?path=/etc/hostname')
    assert.equal(read.status, 401)
    assert.equal(read.json.code, 401)
    const wrong = await data(box().sandboxId, '/files?path=/etc/hostname', {
      headers: { 'X-Access-Token': tokenOf(box()).replace(/./g, '0') },
    })
    assert.equal(wrong.status, 401)
  })

  test('a signed address of a sandbox that is gone leads nowhere', async t => {
    const gone = await sandbox(t)
    await gone.files.write('/tmp/x', 'x')
    const address = await gone.downloadUrl('/tmp/x')
    assert.equal((await fetch(address)).status, 200)
    await gone.kill()
    assert.equal((await fetch(address)).status, 502)
  })

  test('browsers may call from anywhere', async () => {
    const asked = await fetch(await box().downloadUrl('/tmp/x'), {
      method: 'OPTIONS',
      headers: { Origin: 'https://example.org', 'Access-Control-Request-Method': 'GET' },
    })
    assert.ok(asked.status < 300, String(asked.status))
    assert.equal(asked.headers.get('access-control-allow-origin'), '*')
  })
})
