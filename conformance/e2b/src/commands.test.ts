import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  AuthenticationError,
  CommandExitError,
  InvalidArgumentError,
  NotFoundError,
  Sandbox,
  SandboxError,
  SandboxNotFoundError,
  TimeoutError,
} from 'e2b'
import { envelope, fails, fresh, gate, processes, route, sandbox, shared, stream, unary, until, url } from './berth.ts'

describe('commands', { concurrency: 4 }, () => {
  const box = shared({ envs: { FROM_CREATE: 'created', BOTH: 'created' } })

  test('run gives both outputs and the exit code', async () => {
    const result = await box().commands.run('echo out; echo err >&2')
    assert.equal(result.stdout, 'out\n')
    assert.equal(result.stderr, 'err\n')
    assert.equal(result.exitCode, 0)
  })

  test('a command that fails is a CommandExitError with all it said', async () => {
    const error = await fails(
      box().commands.run('echo out; echo err >&2; exit 3'),
      CommandExitError,
      /^exit status 3$/
    )
    assert.equal(error.exitCode, 3)
    assert.equal(error.stdout, 'out\n')
    assert.equal(error.stderr, 'err\n')
    assert.equal(error.error, 'exit status 3')
  })

  test('a command that does not exist exits with 127, as in a shell', async () => {
    const error = await fails(box().commands.run('no-such-command-at-all'), CommandExitError)
    assert.equal(error.exitCode, 127)
    assert.match(error.stderr, /command not found/)
  })

  test('the default user is user, in its home', async () => {
    const who = await box().commands.run('id -un; pwd; echo $HOME $USER $LOGNAME')
    assert.equal(who.stdout, 'user\n/home/user\n/home/user user user\n')
  })

  test('user root is root, in its home', async () => {
    const who = await box().commands.run('id -un; pwd; echo $HOME', { user: 'root' })
    assert.equal(who.stdout, 'root\n/root\n/root\n')
  })

  test('any other user of the sandbox can be named', async () => {
    const name = `u${Math.random().toString(36).slice(2, 8)}`
    await box().commands.run(`useradd -m ${name}`, { user: 'root' })
    const who = await box().commands.run('id -un; pwd', { user: name })
    assert.equal(who.stdout, `${name}\n/home/${name}\n`)
  })

  test('a user that is not there is refused', async () => {
    await fails(box().commands.run('true', { user: 'nobody-at-all' }), AuthenticationError, /invalid username: 'nobody-at-all'/)
    await fails(
      box().files.watchDir('/', () => {}, { user: 'nobody-at-all' }),
      AuthenticationError
    )
  })

  test('the default user may become root', async () => {
    assert.equal((await box().commands.run('sudo id -un')).stdout, 'root\n')
  })

  test('cwd is where it runs: absolute, of the home, or relative to it', async () => {
    await box().commands.run('mkdir -p ~/sub/dir')
    assert.equal((await box().commands.run('pwd', { cwd: '/tmp' })).stdout, '/tmp\n')
    assert.equal((await box().commands.run('pwd', { cwd: '~/sub' })).stdout, '/home/user/sub\n')
    assert.equal((await box().commands.run('pwd', { cwd: 'sub/dir' })).stdout, '/home/user/sub/dir\n')
  })

  test('a cwd that is not there is an invalid argument', async () => {
    await fails(
      box().commands.run('true', { cwd: '/no/such/place' }),
      InvalidArgumentError,
      /cwd '\/no\/such\/place' does not exist/
    )
  })

  test('envs of the call go over those of the sandbox', async () => {
    const env = await box().commands.run('echo "$FROM_CREATE $BOTH $OWN"', { envs: { BOTH: 'call', OWN: 'a b' } })
    assert.equal(env.stdout, 'created call a b\n')
    assert.equal((await box().commands.run('echo "$BOTH $OWN"')).stdout, 'created \n')
  })

  test('output comes while it runs', async () => {
    const seen: string[] = []
    const errors: string[] = []
    let first: (() => void) | undefined
    const firstSeen = new Promise<void>(resolve => (first = resolve))
    const second = gate()
    const done = box().commands.run(`echo one; ${second.closed}; echo two; echo bad >&2`, {
      onStdout: it => {
        seen.push(it)
        first?.()
      },
      onStderr: it => void errors.push(it),
    })
    await firstSeen
    assert.deepEqual(seen, ['one\n'])
    await second.open(box())
    const result = await done
    assert.equal(seen.join(''), 'one\ntwo\n')
    assert.equal(errors.join(''), 'bad\n')
    assert.equal(result.stdout, 'one\ntwo\n')
  })

  test('a large output arrives whole', async () => {
    const result = await box().commands.run('head -c 20000000 /dev/zero | tr "\\0" x')
    assert.equal(result.stdout.length, 20_000_000)
    assert.match(result.stdout.slice(0, 1000), /^x+$/)
  })

  test('a character that is cut in two by the pieces of the stream is one in the end', async () => {
    const result = await box().commands.run('for i in $(seq 1 30000); do printf "ü→😀"; done')
    assert.equal(result.stdout, 'ü→😀'.repeat(30_000))
  })

  test('the pieces of an output are 32 KiB at most', async () => {
    const { envelopes } = await stream(box(), 'process.Process/Start', {
      process: { cmd: '/bin/bash', args: ['-c', 'head -c 300000 /dev/zero'] },
      stdin: false,
    })
    const sizes = envelopes
      .map(it => it.json.event?.data?.stdout)
      .filter(it => it !== undefined)
      .map(it => Buffer.from(it, 'base64').length)
    assert.equal(
      sizes.reduce((sum, it) => sum + it, 0),
      300_000
    )
    assert.ok(Math.max(...sizes) <= 32_768, `a piece has ${Math.max(...sizes)} bytes`)
  })

  test('stdin is at its end unless it was asked for', async () => {
    assert.equal((await box().commands.run('cat; echo end')).stdout, 'end\n')
  })

  test('a command takes input, and goes on at its end', async () => {
    const command = await box().commands.run('cat', { background: true, stdin: true })
    await command.sendStdin('hello ')
    await box().commands.sendStdin(command.pid, new TextEncoder().encode('you'))
    await box().commands.closeStdin(command.pid)
    assert.equal((await command.wait()).stdout, 'hello you')
  })

  test('closeStdin of the handle does the same', async () => {
    const command = await box().commands.run('wc -c', { background: true, stdin: true })
    await command.sendStdin('12345')
    await command.closeStdin()
    assert.equal((await command.wait()).stdout.trim(), '5')
  })

  test('input to a command without stdin is an error', async () => {
    const command = await box().commands.run('sleep 100', { background: true })
    await fails(box().commands.sendStdin(command.pid, 'x'), SandboxError)
    await command.kill()
  })

  test('a command that was asked to read too much input waits, and gets all of it', async () => {
    const reading = gate()
    const command = await box().commands.run(`${reading.closed}; md5sum`, { background: true, stdin: true })
    const bytes = new Uint8Array(1_000_000).fill(65)
    const sent = command.sendStdin(bytes).then(() => command.closeStdin())
    await reading.open(box())
    await sent
    assert.match((await command.wait()).stdout, /^48fcdb8b87ce8ef779774199a856091d/)
  })

  test('a background command returns at once and is waited for', async () => {
    const late = gate()
    const command = await box().commands.run(`${late.closed}; echo late`, { background: true })
    assert.ok(command.pid > 0)
    assert.equal(command.exitCode, undefined)
    await late.open(box())
    const result = await command.wait()
    assert.equal(result.stdout, 'late\n')
    assert.equal(command.exitCode, 0)
    assert.equal(command.stdout, 'late\n')
  })

  test('a pid is the one it has in the sandbox', async () => {
    const command = await box().commands.run('echo $$; sleep 100', { background: true })
    await until(() => command.stdout.length > 0, 'it says its pid')
    assert.equal(command.stdout.trim(), String(command.pid))
    await command.kill()
  })

  test('list has what runs, and how it was started', async () => {
    const command = await box().commands.run('sleep 777', { background: true, envs: { A: '1' }, cwd: '/tmp' })
    const listed = (await box().commands.list()).find(it => it.pid === command.pid)
    assert.deepEqual(listed, {
      pid: command.pid,
      cmd: '/bin/bash',
      args: ['-l', '-c', 'sleep 777'],
      envs: { A: '1' },
      cwd: '/tmp',
    })
    await command.kill()
    await until(async () => !(await box().commands.list()).some(it => it.pid === command.pid), 'it is off the list')
  })

  test('kill ends a command, and the handle says how', async () => {
    const command = await box().commands.run('exec sleep 100', { background: true })
    assert.equal(await command.kill(), true)
    const error = await fails(command.wait(), CommandExitError, /^signal: killed$/)
    assert.equal(error.exitCode, -1)
  })

  test('kill of a pid that is not there is false', async () => {
    assert.equal(await box().commands.kill(999_999), false)
    const command = await box().commands.run('true', { background: true })
    await command.wait()
    assert.equal(await box().commands.kill(command.pid), false)
  })

  test('a command is terminated too, by SIGTERM', async () => {
    const command = await box().commands.run('trap "echo caught; exit 5" TERM; echo ready; while :; do sleep 0.1; done', {
      background: true,
    })
    await until(() => command.stdout.includes('ready'), 'the trap is set')
    const sent = await unary(box(), 'process.Process/SendSignal', {
      process: { pid: command.pid },
      signal: 'SIGNAL_SIGTERM',
    })
    assert.equal(sent.status, 200, sent.text)
    const error = await fails(command.wait(), CommandExitError)
    assert.equal(error.exitCode, 5)
    assert.equal(error.stdout, 'ready\ncaught\n')
  })

  test('a signal that is neither TERM nor KILL is not there', async () => {
    const command = await box().commands.run('sleep 100', { background: true })
    const sent = await unary(box(), 'process.Process/SendSignal', { process: { pid: command.pid }, signal: 'SIGNAL_SIGHUP' })
    assert.equal(sent.status, 501, sent.text)
    assert.equal(sent.json.code, 'unimplemented')
    await command.kill()
  })

  test('input after its end is an error', async () => {
    const waits = gate()
    const command = await box().commands.run(`cat; ${waits.closed}`, { background: true, stdin: true })
    await command.closeStdin()
    const late = await unary(box(), 'process.Process/SendInput', { process: { pid: command.pid }, input: { stdin: 'eA==' } })
    assert.equal(late.status, 500, late.text)
    assert.equal(late.json.code, 'internal')
    await waits.open(box())
    assert.equal((await command.wait()).stdout, '')
  })

  test('a process is found by its tag, and is listed with it', async () => {
    const tag = fresh('tag')
    const end = gate()
    const started = stream(box(), 'process.Process/Start', {
      process: { cmd: '/bin/bash', args: ['-c', `${end.closed}; exit 8`] },
      tag,
      stdin: false,
    })
    const listed = await until(async () => {
      const { json } = await unary(box(), 'process.Process/List', {})
      return json.processes?.find((it: { tag?: string }) => it.tag === tag)
    }, 'it is in the list')
    const connected = stream(box(), 'process.Process/Connect', { process: { tag } })
    await end.open(box())
    for (const { envelopes } of [await started, await connected]) {
      assert.equal(envelopes[0]!.json.event.start.pid, listed.pid)
      assert.equal(envelopes.at(-2)!.json.event.end.exitCode, 8)
    }
  })

  test('another client connects by pid and sees what comes from then on', async () => {
    const later = gate()
    const command = await box().commands.run(`echo early; ${later.closed}; echo later; exit 4`, { background: true })
    await until(() => command.stdout.includes('early'), 'it began')
    const other = await Sandbox.connect(box().sandboxId)
    const seen: string[] = []
    const same = await other.commands.connect(command.pid, { onStdout: it => void seen.push(it) })
    assert.equal(same.pid, command.pid)
    await later.open(box())
    const error = await fails(same.wait(), CommandExitError)
    assert.equal(error.exitCode, 4)
    assert.equal(seen.join(''), 'later\n')
    assert.equal((await fails(command.wait(), CommandExitError)).stdout, 'early\nlater\n')
  })

  test('who connects can write to it', async () => {
    const command = await box().commands.run('cat', { background: true, stdin: true })
    const other = await (await Sandbox.connect(box().sandboxId)).commands.connect(command.pid)
    await other.sendStdin('from the other')
    await other.closeStdin()
    assert.equal((await other.wait()).stdout, 'from the other')
    assert.equal((await command.wait()).stdout, 'from the other')
  })

  test('connect to a command that has just ended still gives its end', async () => {
    const command = await box().commands.run('exit 7', { background: true })
    await fails(command.wait(), CommandExitError)
    const again = await box().commands.connect(command.pid)
    assert.equal((await fails(again.wait(), CommandExitError)).exitCode, 7)
  })

  test('connect to a pid that is not there is not found', async () => {
    await fails(box().commands.connect(999_999), NotFoundError, /process with pid 999999 not found/)
  })

  test('a client that disconnects leaves the command running', async () => {
    const file = fresh('/tmp/went-on')
    const left = gate()
    const command = await box().commands.run(`${left.closed}; echo done > ${file}`, { background: true })
    await command.disconnect()
    await left.open(box())
    await until(() => box().files.exists(file), 'it went on')
  })

  test('a command ends at its timeout, and is killed', async () => {
    const mark = fresh('marked')
    await fails(box().commands.run(`exec sleep 98.${mark.length}1 # ${mark}`, { timeoutMs: 1_000 }), TimeoutError, /timeoutMs/)
    await until(async () => (await processes(box(), `sleep 98.${mark.length}1`)) === 0, 'it was killed')
  })

  test('a timeout of 0 is none', async () => {
    const result = await box().commands.run('sleep 1.2; echo done', { timeoutMs: 0 })
    assert.equal(result.stdout, 'done\n')
  })

  test('an aborted call ends for the caller, and the command goes on', async () => {
    const abort = new AbortController()
    const file = fresh('/tmp/went-on')
    const left = gate()
    const running = box().commands.run(`echo in; ${left.closed}; touch ${file}`, {
      signal: abort.signal,
      onStdout: () => abort.abort(),
    })
    await assert.rejects(running)
    await left.open(box())
    await until(() => box().files.exists(file), 'it went on')
  })

  test('an end carries what Go says of it', async () => {
    const { status, headers, envelopes } = await stream(box(), 'process.Process/Start', {
      process: { cmd: '/bin/bash', args: ['-c', 'echo hi; exit 3'] },
      stdin: false,
    })
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'application/connect+json')
    assert.equal(typeof envelopes[0]!.json.event.start.pid, 'number')
    assert.equal(Buffer.from(envelopes[1]!.json.event.data.stdout, 'base64').toString(), 'hi\n')
    const end = envelopes.at(-2)!.json.event.end
    assert.deepEqual(end, { exitCode: 3, exited: true, status: 'exit status 3', error: 'exit status 3' })
    assert.equal(envelopes.at(-1)!.flags, 2)
    assert.deepEqual(envelopes.at(-1)!.json, {})
    assert.ok(envelopes.slice(0, -1).every(it => it.flags === 0))
  })

  test('an end by a signal of its own is one', async () => {
    const { envelopes } = await stream(box(), 'process.Process/Start', {
      process: { cmd: '/bin/bash', args: ['-c', 'kill -TERM $$'] },
      stdin: false,
    })
    const end = envelopes.at(-2)!.json.event.end
    assert.deepEqual(
      { exitCode: end.exitCode, exited: end.exited ?? false, status: end.status, error: end.error },
      { exitCode: -1, exited: false, status: 'signal: terminated', error: 'signal: terminated' }
    )
  })

  test('a timeout and kill end what a command started, too', async () => {
    await fails(box().commands.run('sleep 6543 & sleep 6543; wait', { timeoutMs: 1_000 }), TimeoutError)
    await until(async () => (await processes(box(), 'sleep 6543')) === 0, 'they are dead')
    const command = await box().commands.run('sleep 6544 & sleep 6544; wait', { background: true })
    await until(async () => (await processes(box(), 'sleep 6544')) >= 2, 'they run')
    await command.kill()
    await until(async () => (await processes(box(), 'sleep 6544')) === 0, 'they are dead')
  })

  test('without a word about stdin it is open', async () => {
    const mark = fresh('in')
    const started = stream(box(), 'process.Process/Start', {
      process: { cmd: '/bin/bash', args: ['-c', 'read line; echo "got $line"'] },
      tag: mark,
    })
    const selector = { process: { tag: mark } }
    await until(async () => {
      const sent = await unary(box(), 'process.Process/SendInput', {
        ...selector,
        input: { stdin: Buffer.from('it\n').toString('base64') },
      })
      return sent.status === 200
    }, 'it takes input by its tag')
    const { envelopes } = await started
    const out = envelopes.map(it => it.json.event?.data?.stdout ?? '').join('')
    assert.equal(Buffer.from(out, 'base64').toString(), 'got it\n')
  })

  test('an idle stream is kept alive as often as the client wants', async () => {
    const { envelopes } = await stream(
      box(),
      'process.Process/Start',
      { process: { cmd: '/bin/sleep', args: ['4.5'] }, stdin: false },
      { 'Keepalive-Ping-Interval': '1' }
    )
    assert.ok(envelopes.filter(it => it.json.event?.keepalive).length >= 2)
  })

  test('a program that cannot be started is an invalid argument', async () => {
    const { status, envelopes } = await stream(box(), 'process.Process/Start', {
      process: { cmd: '/no/such/program', args: [] },
    })
    assert.equal(status, 200)
    assert.equal(envelopes.length, 1)
    assert.equal(envelopes[0]!.flags, 2)
    assert.equal(envelopes[0]!.json.error.code, 'invalid_argument')
  })

  test('one reader that does not read stops nobody else', async () => {
    const begun = gate()
    const command = await box().commands.run(`${begun.closed}; head -c 30000000 /dev/zero | tr "\\0" y; echo`, {
      background: true,
    })
    const lazy = await fetch(`${url}/process.Process/Connect`, {
      method: 'POST',
      headers: { ...route(box()), 'Content-Type': 'application/connect+json' },
      body: envelope({ process: { pid: command.pid } }),
    })
    assert.equal(lazy.status, 200)
    await begun.open(box())
    const result = await command.wait()
    assert.equal(result.stdout.length, 30_000_001)
    await lazy.body?.cancel()
  })

  test('what a command leaves in the background does not hold its end', async () => {
    // Were its end held, the time of the call would be over first.
    const result = await box().commands.run('(sleep 600 >/dev/null 2>&1 &) ; echo done', { timeoutMs: 30_000 })
    assert.equal(result.stdout, 'done\n')
  })

  test('many commands at once each have their own output', async () => {
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, index) => box().commands.run(`echo ${index}; sleep 0.2; echo ${index}`))
    )
    results.forEach((it, index) => assert.equal(it.stdout, `${index}\n${index}\n`))
  })
})

describe('commands: in a sandbox that dies', { concurrency: 4 }, () => {
  test('a command in a sandbox that was killed is told so by the SDK', async t => {
    const box = await sandbox(t)
    await box.kill()
    await fails(box.commands.run('true'), SandboxNotFoundError, /probably not running anymore/)
  })

  test('a command that runs when its sandbox is killed ends with a TimeoutError', async t => {
    const box = await sandbox(t)
    const command = await box.commands.run('sleep 100', { background: true })
    const ended = fails(command.wait(), TimeoutError, /killed or reached its end of life/)
    await box.kill()
    await ended
  })

  test('a command whose sandbox is paused ends for its client, and goes on afterwards', async t => {
    const box = await sandbox(t)
    const waits = gate()
    const command = await box.commands.run(`${waits.closed}; exit 6`, { background: true, timeoutMs: 0 })
    const ended = fails(command.wait(), TimeoutError)
    await box.pause()
    await ended
    await box.connect({ timeoutMs: 60_000 })
    const again = await box.commands.connect(command.pid)
    await waits.open(box)
    assert.equal((await fails(again.wait(), CommandExitError)).exitCode, 6)
  })

  test('a command that runs when the time of its sandbox is over ends with a TimeoutError', async t => {
    const box = await sandbox(t, { timeoutMs: 2_000 })
    await fails(box.commands.run('sleep 100'), TimeoutError)
  })

  test('other calls to a sandbox that was killed are TimeoutErrors', async t => {
    const box = await sandbox(t)
    await box.kill()
    await fails(box.commands.list(), TimeoutError)
    await fails(box.commands.kill(1), TimeoutError)
    await fails(box.commands.sendStdin(1, 'x'), TimeoutError)
  })

  test('a command that uses all memory is killed, and the sandbox lives', async t => {
    const box = await sandbox(t)
    const { memoryMB } = await box.getInfo()
    await fails(
      box.commands.run(`exec python3 -c "x = b'a' * (${2 * memoryMB} << 20)"`),
      CommandExitError,
      /^signal: killed$/
    )
    assert.equal((await box.commands.run('echo alive')).stdout, 'alive\n')
  })

  test('a fork bomb stays inside', async t => {
    const [box, neighbour] = await Promise.all([sandbox(t), sandbox(t)])
    const bomb = await box.commands.run('bomb() { bomb | bomb & }; bomb; sleep 600', { background: true, timeoutMs: 0 })
    await bomb.disconnect()
    await until(() => box.commands.run('true', { timeoutMs: 5_000 }).then(() => false, () => true), 'it has filled the sandbox', 60_000)
    assert.equal((await neighbour.commands.run('echo fine')).stdout, 'fine\n')
    assert.equal(await box.isRunning(), true)
    assert.equal(await box.kill(), true)
    assert.equal(await box.isRunning(), false)
  })
})
