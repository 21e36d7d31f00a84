/** The SDK's helpers for git, against a git daemon on the loopback of the sandbox. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { CommandExitError, GitAuthError, GitUpstreamError, InvalidArgumentError } from 'e2b'
import { fails, fresh, shared, until } from './berth.ts'

describe('git', () => {
  const box = shared()
  const git = () => box().git
  const AUTHOR = { authorName: 'Ada', authorEmail: 'ada@example.org' }

  before(async () => {
    const made = await box().commands.run(
      'mkdir -p /tmp/srv && cd /tmp/srv && git init -q --bare -b main origin.git && git init -q -b main seed && cd seed ' +
        '&& git -c user.name=Seed -c user.email=s@example.org commit -q --allow-empty -m first && echo one > file.txt ' +
        '&& git add . && git -c user.name=Seed -c user.email=s@example.org commit -q -m second && git push -q ../origin.git main ' +
        '&& git checkout -q -b other && git push -q ../origin.git other'
    )
    assert.equal(made.exitCode, 0)
    await box().commands.run(
      'git daemon --reuseaddr --listen=127.0.0.1 --export-all --enable=receive-pack --base-path=/tmp/srv /tmp/srv',
      { background: true, timeoutMs: 0 }
    )
    await until(
      () => box().commands.run('git ls-remote git://127.0.0.1/origin.git').then(
        () => true,
        () => false
      ),
      'the daemon answers'
    )
  })

  async function cloned(): Promise<string> {
    const path = fresh('/tmp/clone')
    await git().clone('git://127.0.0.1/origin.git', { path })
    await git().configureUser('Ada', 'ada@example.org', { scope: 'local', path })
    return path
  }

  test('clone brings the files, and the branch that was asked for', async () => {
    const path = fresh('/tmp/clone')
    const result = await git().clone('git://127.0.0.1/origin.git', { path, branch: 'other', depth: 1 })
    assert.equal(result.exitCode, 0)
    assert.equal(await box().files.read(`${path}/file.txt`), 'one\n')
    assert.equal((await git().status(path)).currentBranch, 'other')
  })

  test('clone without a path goes to a directory of the name of the repository', async () => {
    await git().clone('git://127.0.0.1/origin.git', { cwd: '/tmp' })
    assert.equal(await box().files.exists('/tmp/origin/file.txt'), true)
  })

  test('clone of what is not there fails as git does', async () => {
    await fails(git().clone('file:///tmp/srv/nothing.git', { path: fresh('/tmp/no') }), CommandExitError)
  })

  test('credentials are for http alone', async () => {
    await fails(
      git().clone('git://127.0.0.1/origin.git', { path: '/tmp/x', username: 'u', password: 'p' }),
      InvalidArgumentError
    )
    await fails(git().clone('https://127.0.0.1/x.git', { password: 'p' }), InvalidArgumentError)
  })

  test('init makes a repository with its first branch', async () => {
    const path = fresh('/tmp/init')
    await git().init(path, { initialBranch: 'trunk' })
    const status = await git().status(path)
    assert.equal(status.currentBranch, 'trunk')
    assert.equal(status.isClean, true)
    const bare = fresh('/tmp/bare')
    await git().init(bare, { bare: true })
    assert.equal(await box().files.exists(`${bare}/HEAD`), true)
  })

  test('status tells what changed', async () => {
    const path = await cloned()
    await box().files.write(`${path}/new.txt`, 'x')
    await box().files.write(`${path}/file.txt`, 'changed\n')
    let status = await git().status(path)
    assert.equal(status.upstream, 'origin/main')
    assert.equal(status.hasChanges, true)
    assert.equal(status.hasUntracked, true)
    assert.deepEqual(status.fileStatus.map(it => [it.name, it.status]).sort(), [
      ['file.txt', 'modified'],
      ['new.txt', 'untracked'],
    ])
    await git().add(path, { files: ['new.txt'] })
    status = await git().status(path)
    assert.equal(status.stagedCount, 1)
    await git().add(path, { all: true })
    assert.equal((await git().status(path)).stagedCount, 2)
  })

  test('commit takes a message and an author', async () => {
    const path = await cloned()
    await box().files.write(`${path}/c.txt`, 'x')
    await git().add(path)
    await git().commit(path, 'a message with "quotes"', AUTHOR)
    const log = await box().commands.run(`git -C ${path} log -1 --format='%an <%ae> %s'`)
    assert.equal(log.stdout, 'Ada <ada@example.org> a message with "quotes"\n')
    await git().commit(path, 'empty', { ...AUTHOR, allowEmpty: true })
    assert.equal((await git().status(path)).ahead, 2)
  })

  test('branches are made, taken, listed and deleted', async () => {
    const path = await cloned()
    await git().createBranch(path, 'feature')
    assert.equal((await git().branches(path)).currentBranch, 'feature')
    await git().checkoutBranch(path, 'main')
    assert.deepEqual((await git().branches(path)).branches.sort(), ['feature', 'main'])
    await git().deleteBranch(path, 'feature', { force: true })
    assert.deepEqual((await git().branches(path)).branches, ['main'])
  })

  test('push and pull move commits between two clones', async () => {
    const one = await cloned()
    const two = await cloned()
    const name = fresh('pushed')
    await box().files.write(`${one}/${name}`, 'x')
    await git().add(one)
    await git().commit(one, 'to push', AUTHOR)
    await git().push(one)
    await git().pull(two)
    assert.equal(await box().files.exists(`${two}/${name}`), true)
    assert.equal((await git().status(one)).ahead, 0)
  })

  test('push of a new branch sets its upstream', async () => {
    const path = await cloned()
    const branch = fresh('topic')
    await git().createBranch(path, branch)
    await git().push(path, { remote: 'origin', branch, setUpstream: true })
    assert.equal((await git().status(path)).upstream, `origin/${branch}`)
  })

  test('pull without an upstream is a GitUpstreamError', async () => {
    const path = await cloned()
    await git().createBranch(path, fresh('alone'))
    await fails(git().pull(path), GitUpstreamError)
  })

  test('remotes are added, told and replaced', async () => {
    const path = await cloned()
    await git().remoteAdd(path, 'second', 'git://127.0.0.1/origin.git', { fetch: true })
    assert.equal(await git().remoteGet(path, 'second'), 'git://127.0.0.1/origin.git')
    await git().remoteAdd(path, 'second', '/tmp/srv/origin.git', { overwrite: true })
    assert.equal(await git().remoteGet(path, 'second'), '/tmp/srv/origin.git')
    assert.equal(await git().remoteGet(path, 'third'), undefined)
    await fails(git().remoteAdd(path, '', 'x'), InvalidArgumentError)
  })

  test('reset and restore take changes back', async () => {
    const path = await cloned()
    await box().files.write(`${path}/file.txt`, 'changed\n')
    await git().add(path)
    await git().reset(path)
    assert.equal((await git().status(path)).stagedCount, 0)
    await git().restore(path, { paths: ['file.txt'] })
    assert.equal(await box().files.read(`${path}/file.txt`), 'one\n')
    await git().commit(path, 'to drop', { ...AUTHOR, allowEmpty: true })
    await git().reset(path, { mode: 'hard', target: 'HEAD~1' })
    assert.equal((await git().status(path)).ahead, 0)
    await fails(git().reset(path, { mode: 'sideways' as 'hard' }), InvalidArgumentError)
  })

  test('settings are set and told, global and local', async () => {
    const path = await cloned()
    await git().setConfig('berth.test', 'global value')
    assert.equal(await git().getConfig('berth.test'), 'global value')
    await git().setConfig('berth.test', 'local value', { scope: 'local', path })
    assert.equal(await git().getConfig('berth.test', { scope: 'local', path }), 'local value')
    assert.equal(await git().getConfig('berth.none'), undefined)
    await git().configureUser('Grace', 'grace@example.org')
    assert.equal(await git().getConfig('user.email'), 'grace@example.org')
  })

  test('a server that wants a password is a GitAuthError', async () => {
    const server =
      'from http.server import *\n' +
      'class H(BaseHTTPRequestHandler):\n' +
      '  def do_GET(self):\n' +
      '    self.send_response(401); self.send_header("WWW-Authenticate", "Basic realm=x"); self.end_headers()\n' +
      'HTTPServer(("127.0.0.1", 8401), H).serve_forever()\n'
    await box().files.write('/tmp/auth.py', server)
    await box().commands.run('python3 /tmp/auth.py', { background: true, timeoutMs: 0 })
    await until(
      () => box().commands.run('curl -s -o /dev/null http://127.0.0.1:8401/').then(
        () => true,
        () => false
      ),
      'it answers'
    )
    await fails(git().clone('http://127.0.0.1:8401/x.git', { path: fresh('/tmp/auth') }), GitAuthError)
    await fails(
      git().clone('http://127.0.0.1:8401/x.git', { path: fresh('/tmp/auth'), username: 'u', password: 'wrong' }),
      GitAuthError
    )
  })

  test('dangerouslyAuthenticate keeps credentials for a host', async () => {
    await git().dangerouslyAuthenticate({ username: 'u', password: 'p', host: '127.0.0.1:8402', protocol: 'http' })
    const filled = await box().commands.run('printf "protocol=http\\nhost=127.0.0.1:8402\\n\\n" | git credential fill')
    assert.match(filled.stdout, /password=p/)
  })
})
