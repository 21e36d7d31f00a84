import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { CommandExitError, NotFoundError, Sandbox, SandboxError, type CommandHandle } from 'e2b'
import { fails, fresh, shared, stream, unary, until } from './berth.ts'

describe('pty', { concurrency: 4 }, () => {
  const box = shared()

  class Terminal {
    said = ''
    handle!: CommandHandle
    readonly #decoder = new TextDecoder()

    static async open(t: TestContext, opts: Partial<Parameters<Sandbox['pty']['create']>[0]> = {}): Promise<Terminal> {
      const made = new Terminal()
      made.handle = await box().pty.create({ cols: 80, rows: 24, onData: it => made.hear(it), ...opts })
      t.after(() => made.handle.kill())
      return made
    }

    hear(bytes: Uint8Array) {
      this.said += this.#decoder.decode(bytes, { stream: true })
    }

    async type(text: string) {
      await box().pty.sendInput(this.handle.pid, new TextEncoder().encode(text))
    }

    async saying(text: string | RegExp) {
      await until(
        () => (typeof text === 'string' ? this.said.includes(text) : text.test(this.said)),
        () => `the terminal says ${text}; it said ${JSON.stringify(this.said)}`
      )
    }
  }

  test('it is a shell on a terminal', async t => {
    const terminal = await Terminal.open(t)
    await terminal.type('tty; echo "$TERM $LANG $(id -un)"\n')
    await terminal.saying(/\/dev\/pts\/\d+\r\nxterm-256color C.UTF-8 user\r\n/)
  })

  test('it has the size that was asked for, and another when it is resized', async t => {
    const terminal = await Terminal.open(t, { cols: 100, rows: 30 })
    await terminal.type('stty size\n')
    await terminal.saying('30 100')
    await box().pty.resize(terminal.handle.pid, { cols: 132, rows: 50 })
    await terminal.type('stty size\n')
    await terminal.saying('50 132')
  })

  test('user, cwd and envs are those of the call', async t => {
    const terminal = await Terminal.open(t, { user: 'root', cwd: '/tmp', envs: { OWN: 'mine', TERM: 'dumb' } })
    await terminal.type('echo "[$(id -un) $PWD $OWN $TERM]"\n')
    await terminal.saying('[root /tmp mine dumb]')
  })

  test('Ctrl-C interrupts what runs', async t => {
    const terminal = await Terminal.open(t)
    await terminal.type('echo be""gun; cat\n')
    await terminal.saying('begun')
    await terminal.type('echoed by cat\n')
    await terminal.saying(/echoed by cat\r\nechoed by cat/)
    await terminal.type('\x03')
    await terminal.type('echo "code $?"\n')
    await terminal.saying('code 130')
  })

  test('exit ends it with its code', async t => {
    const terminal = await Terminal.open(t)
    await terminal.type('exit 5\n')
    assert.equal((await fails(terminal.handle.wait(), CommandExitError)).exitCode, 5)
  })

  test('kill ends it, and is false when it is not there', async t => {
    const terminal = await Terminal.open(t)
    assert.equal(await box().pty.kill(terminal.handle.pid), true)
    await fails(terminal.handle.wait(), CommandExitError, /signal: killed/)
    assert.equal(await box().pty.kill(terminal.handle.pid), false)
    assert.equal(await box().pty.kill(999_999), false)
  })

  test('who disconnects can come back, and the shell is the same', async t => {
    const terminal = await Terminal.open(t)
    const word = fresh('word')
    await terminal.type(`WORD=${word}; echo se""t\n`)
    await terminal.saying('set')
    await terminal.handle.disconnect()
    const other = await Sandbox.connect(box().sandboxId)
    const again = new Terminal()
    again.handle = await other.pty.connect(terminal.handle.pid, { onData: it => again.hear(it) })
    assert.equal(again.handle.pid, terminal.handle.pid)
    await again.type('echo "it is $WORD"\n')
    await again.saying(`it is ${word}`)
  })

  test('connect to a terminal that is not there is not found', async () => {
    await fails(box().pty.connect(999_999), NotFoundError)
  })

  test('a terminal is in the list of commands', async t => {
    const terminal = await Terminal.open(t)
    const listed = (await box().commands.list()).find(it => it.pid === terminal.handle.pid)
    assert.equal(listed?.cmd, '/bin/bash')
    assert.deepEqual(listed?.args, ['-i', '-l'])
  })

  test('a terminal has no stdin of a command, and its stdin cannot be closed', async t => {
    const terminal = await Terminal.open(t)
    await fails(box().commands.sendStdin(terminal.handle.pid, 'x'), SandboxError)
    await fails(box().commands.closeStdin(terminal.handle.pid), SandboxError)
    await fails(terminal.handle.sendStdin('x'), SandboxError)
  })

  test('input to a terminal that is not there is not found', async () => {
    await fails(box().pty.sendInput(999_999, new Uint8Array([10])), NotFoundError)
    await fails(box().pty.resize(999_999, { cols: 10, rows: 10 }), NotFoundError)
  })

  test('a command is no terminal that could be resized or typed into', async () => {
    const command = await box().commands.run('sleep 50', { background: true })
    await fails(box().pty.sendInput(command.pid, new Uint8Array([10])), SandboxError)
    const resized = await unary(box(), 'process.Process/Update', {
      process: { pid: command.pid },
      pty: { size: { cols: 10, rows: 10 } },
    })
    assert.equal(resized.status, 500, resized.text)
    assert.equal(resized.json.code, 'internal')
    await command.kill()
  })

  test('characters beyond ASCII go both ways', async t => {
    const terminal = await Terminal.open(t)
    await terminal.type('echo "<ü→😀>"\n')
    await terminal.saying(/\r<ü→😀>\r\n/)
  })

  test('much output comes whole', async t => {
    const terminal = await Terminal.open(t)
    await terminal.type('for i in $(seq 1 20000); do echo "line $i"; done; echo e""nd\n')
    await terminal.saying('\r\nend\r\n')
    assert.match(terminal.said, /line 1\r\nline 2\r\n/)
    assert.match(terminal.said, /line 19999\r\nline 20000\r\n/)
  })

  test('the pieces of its output are 16 KiB at most', async () => {
    const { envelopes } = await stream(box(), 'process.Process/Start', {
      process: { cmd: '/bin/bash', args: ['-c', 'head -c 200000 /dev/zero | tr "\\0" x'] },
      pty: { size: { cols: 80, rows: 24 } },
    })
    const sizes = envelopes
      .map(it => it.json.event?.data?.pty)
      .filter(it => it !== undefined)
      .map(it => Buffer.from(it, 'base64').length)
    assert.equal(
      sizes.reduce((sum, it) => sum + it, 0),
      200_000
    )
    assert.ok(Math.max(...sizes) <= 16_384, `a piece has ${Math.max(...sizes)} bytes`)
  })

  test('a terminal that nobody uses ends for its client at its timeout', async t => {
    const terminal = await Terminal.open(t, { timeoutMs: 1_000 })
    await assert.rejects(terminal.handle.wait(), { name: 'TimeoutError' })
  })
})
