import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import {
  BuildError,
  InvalidArgumentError,
  Sandbox,
  SandboxError,
  Template,
  TemplateError,
  waitForFile,
  waitForPort,
  waitForProcess,
  waitForTimeout,
  waitForURL,
  type BuildInfo,
  type TemplateClass,
} from 'e2b'
import { api, fails, fresh, processes, sandbox, tenant, until } from './berth.ts'
import { registry, type Registry } from './registry.ts'

describe('templates', { concurrency: 2 }, () => {
  let files: string
  let images: Registry
  /** For the cases that only look at a template. */
  let one: BuildInfo

  before(async () => {
    files = await mkdtemp(join(tmpdir(), 'template-'))
    await mkdir(join(files, 'dir/deep'), { recursive: true })
    await writeFile(join(files, 'hello.txt'), 'hello from the client\n')
    await writeFile(join(files, 'script.sh'), '#!/bin/sh\necho ran\n', { mode: 0o755 })
    await writeFile(join(files, 'dir/a.txt'), 'a')
    await writeFile(join(files, 'dir/deep/b.txt'), 'b')
    await writeFile(join(files, 'dir/ignored.log'), 'ignored')
    await symlink('a.txt', join(files, 'dir/link'))
    images = await registry()
    one = await Template.build(ofBase().runCmd('echo 1 > /tmp/v'), fresh('tpl'), {
      tags: ['v1', 'stable'],
      cpuCount: 1,
      memoryMB: 256,
    })
  })

  after(async () => {
    await images?.close()
    await api('DELETE', `/templates/${one?.name}`)
    await rm(files, { recursive: true })
  })

  /** With a first step of its own, so that no layer of an earlier run of the suite answers for those after it. */
  function ofBase(opts: Parameters<typeof Template>[0] = {}) {
    return Template(opts).fromTemplate('base').setEnvs({ OF_THIS_RUN: fresh('run') })
  }

  async function built(t: TestContext, template: TemplateClass, name = fresh('tpl'), opts: object = {}): Promise<BuildInfo> {
    t.after(() => api('DELETE', `/templates/${name}`))
    return Template.build(template, name, opts)
  }

  /** Builds it, and a sandbox of it. */
  async function start(t: TestContext, template: TemplateClass): Promise<Sandbox> {
    const { name } = await built(t, template)
    const box = await Sandbox.create(name, { timeoutMs: 120_000 })
    t.after(() => box.kill())
    return box
  }

  test('RUN, ENV, WORKDIR and USER are in the sandboxes of a template', async t => {
    const box = await start(
      t,
      ofBase()
        .runCmd('echo built > /etc/built', { user: 'root' })
        .setEnvs({ COLOUR: 'dark green', PATH_LIKE: '$HOME/x' })
        .makeDir('/srv/app', { user: 'root' })
        .runCmd('chown user /srv/app', { user: 'root' })
        .setWorkdir('/srv/app')
        .runCmd('pwd > here; id -un > who; echo "$COLOUR" > colour')
    )
    assert.equal(await box.files.read('/etc/built'), 'built\n')
    assert.equal(await box.files.read('/srv/app/here'), '/srv/app\n')
    assert.equal(await box.files.read('/srv/app/who'), 'user\n')
    assert.equal(await box.files.read('/srv/app/colour'), 'dark green\n')
    assert.equal((await box.commands.run('echo "$COLOUR"; pwd')).stdout, 'dark green\n/srv/app\n')
  })

  test('the user of a template is the default of its sandboxes', async t => {
    const box = await start(t, ofBase().setUser('root').runCmd('id -un > /root/who'))
    assert.equal(await box.files.read('/root/who'), 'root\n')
    assert.equal((await box.commands.run('id -un')).stdout, 'root\n')
  })

  test('COPY brings files of the client, with owner and mode', async t => {
    const box = await start(
      t,
      ofBase({ fileContextPath: files, fileIgnorePatterns: ['*.log', '**/*.log'] })
        .copy('hello.txt', '/srv/hello.txt', { user: 'root', mode: 0o640 })
        .copy('script.sh', '/usr/local/bin/script', { user: 'root' })
        .copy('dir', '/srv/dir')
        .copyItems([{ src: 'hello.txt', dest: '/home/user/second.txt', user: 'user' }])
    )
    assert.equal((await box.commands.run('sudo cat /srv/hello.txt')).stdout, 'hello from the client\n')
    assert.equal((await box.commands.run('stat -c "%U %a" /srv/hello.txt')).stdout, 'root 640\n')
    assert.equal((await box.commands.run('script')).stdout, 'ran\n')
    assert.equal(await box.files.read('/srv/dir/deep/b.txt'), 'b')
    assert.equal(await box.files.exists('/srv/dir/ignored.log'), false)
    assert.equal((await box.commands.run('readlink /srv/dir/link; cat /srv/dir/link')).stdout, 'a.txt\na')
    assert.equal(await box.files.read('/home/user/second.txt'), 'hello from the client\n')
  })

  test('what the client has said already is not uploaded twice', async t => {
    const template = () => ofBase({ fileContextPath: files }).copy('hello.txt', '/srv/h.txt')
    await built(t, template())
    const messages: string[] = []
    await built(t, template(), fresh('tpl'), { onBuildLogs: (it: { message: string }) => messages.push(it.message) })
    assert.ok(
      messages.some(it => it.includes("Skipping upload of 'hello.txt', already cached")),
      messages.join('\n')
    )
  })

  test('remove, rename, makeSymlink and gitClone are commands of the build', async t => {
    const box = await start(
      t,
      ofBase()
        .runCmd(['mkdir -p /tmp/w', 'cd /tmp/w', 'touch a b c'])
        .remove('/tmp/w/a')
        .remove(['/tmp/w/none'], { force: true })
        .rename('/tmp/w/b', '/tmp/w/renamed')
        .makeSymlink('/tmp/w/c', '/tmp/w/link')
        .makeDir(['/tmp/w/d1', '/tmp/w/d2'], { mode: 0o700 })
        .runCmd('git init -q -b main /tmp/repo && git -C /tmp/repo -c user.name=a -c user.email=a@b commit -q --allow-empty -m x')
        .gitClone('file:///tmp/repo', '/tmp/cloned', { depth: 1 })
    )
    const names = (await box.files.list('/tmp/w')).map(it => it.name)
    assert.deepEqual(names, ['c', 'd1', 'd2', 'link', 'renamed'])
    assert.equal(await box.files.exists('/tmp/cloned/.git'), true)
  })

  test('the start command runs in every sandbox, and the ready command is waited for', async t => {
    const box = await start(
      t,
      ofBase()
        .setStartCmd('sleep 1; python3 -m http.server 8123 --bind 127.0.0.1 -d /etc', waitForPort(8123))
    )
    // At once: who creates a sandbox has waited for it.
    const got = await box.commands.run('curl -sf http://127.0.0.1:8123/hostname')
    assert.equal(got.stdout, await box.files.read('/etc/hostname'))
  })

  test('the start command is a process like others: listed, connected to by pid, killed', async t => {
    const box = await start(
      t,
      ofBase().setStartCmd('touch /tmp/started; exec sleep 7788', waitForFile('/tmp/started'))
    )
    const [started] = (await box.commands.list()).filter(it => it.args.join(' ').includes('sleep 7788'))
    assert.ok(started, JSON.stringify(await box.commands.list()))
    assert.equal((await box.commands.connect(started.pid)).pid, started.pid)
    assert.equal(await box.commands.kill(started.pid), true)
  })

  test('the start command runs again in copies and after a boot, and what else ran does not', async t => {
    const box = await start(t, ofBase().setStartCmd('echo x >> /home/user/starts; exec sleep 7799', waitForProcess('sleep')))
    const starts = async (it: Sandbox) => (await it.files.read('/home/user/starts')).length / 2
    await box.commands.run('exec sleep 6611', { background: true, timeoutMs: 0 })
    assert.equal(await starts(box), 1)
    const [fork] = await box.fork({ timeoutMs: 60_000 })
    assert.ok(fork instanceof Sandbox, String(fork))
    t.after(() => fork.kill())
    assert.equal(await starts(fork), 2)
    assert.equal(await processes(fork, 'sleep 6611'), 0)
    assert.equal(await processes(fork, 'sleep 7799'), 1)
    await box.pause({ keepMemory: false })
    await box.connect({ timeoutMs: 60_000 })
    assert.equal(await starts(box), 2)
    await box.pause()
    await box.connect({ timeoutMs: 60_000 })
    assert.equal(await starts(box), 2)
  })

  test('a template is named by its id, with its tag, and within its namespace', async t => {
    const listed = (await api('GET', '/templates')).json.find((it: { templateID: string }) => it.templateID === one.templateId)
    const full = listed.names.find((it: string) => it.includes('/'))
    assert.ok(full, JSON.stringify(listed))
    for (const template of [`${one.templateId}:v1`, `${full.split(':')[0]}:v1`]) {
      const box = await Sandbox.create(template, { timeoutMs: 60_000 })
      t.after(() => box.kill())
      assert.equal((await box.getInfo()).templateId, one.templateId)
    }
  })

  test('a template of another tenant is not there until it is public', async t => {
    const apiKey = await tenant({ live: 2 })
    const { templateId } = await built(t, ofBase())
    await fails(Sandbox.create(templateId, { apiKey }), SandboxError, /^404: /)
    assert.equal((await api('DELETE', `/templates/${templateId}`, undefined, { 'X-API-Key': apiKey })).status, 404)
    assert.equal((await api('PATCH', `/v2/templates/${templateId}`, { public: true })).status, 200)
    const box = await Sandbox.create(templateId, { apiKey, timeoutMs: 60_000 })
    t.after(() => box.kill())
    assert.equal((await api('DELETE', `/templates/${templateId}`, undefined, { 'X-API-Key': apiKey })).status, 404)
  })

  test('a build is asked for with all of its names, and is started once', async t => {
    const name = fresh('tpl')
    t.after(() => api('DELETE', `/templates/${name}`))
    const asked = await api('POST', '/v3/templates', { name, tags: ['v1'] })
    assert.equal(asked.status, 202, asked.text)
    const { templateID, buildID, names, tags, aliases } = asked.json
    assert.equal(asked.json.public, false)
    assert.deepEqual([tags, aliases], [['v1'], [name]])
    assert.ok(names.some((it: string) => it.endsWith(`/${name}`)), asked.text)
    const begin = () => api('POST', `/v2/templates/${templateID}/builds/${buildID}`, { fromTemplate: 'base', steps: [] })
    assert.equal((await begin()).status, 202)
    assert.equal((await begin()).status, 409)
    await until(
      async () => (await api('GET', `/templates/${templateID}/builds/${buildID}/status`)).json.status === 'ready',
      'it is built'
    )
  })

  test('files of a step go to an address that is signed, and have to be there', async () => {
    const hash = createHash('sha256').update(fresh('files')).digest('hex')
    const { templateID, buildID } = (await api('POST', '/v3/templates', { name: fresh('tpl') })).json
    try {
      const asked = await api('GET', `/templates/${templateID}/files/${hash}`)
      assert.equal(asked.status, 201, asked.text)
      assert.equal(asked.json.present, false)
      assert.equal((await fetch(`${asked.json.url}x`, { method: 'PUT', body: 'x' })).status, 403)
      const begun = await api('POST', `/v2/templates/${templateID}/builds/${buildID}`, {
        fromTemplate: 'base',
        steps: [{ type: 'COPY', args: ['a', '/a'], filesHash: hash }],
      })
      assert.equal(begun.status, 400, begun.text)
      assert.match(begun.json.message, /step 1: .*upload/)
    } finally {
      await api('DELETE', `/templates/${templateID}`)
    }
  })

  test('a registry of AWS is refused with what to do, and one of Google is asked', async t => {
    const secret = { accessKeyId: 'AKIA', secretAccessKey: 's3cret-of-aws', region: 'eu-west-1' }
    const error = await fails(built(t, Template().fromAWSRegistry('1.dkr.ecr.eu-west-1.amazonaws.com/x:1', secret)), BuildError)
    assert.match(error.message, /aws ecr get-login-password/)
    assert.ok(!error.message.includes('s3cret-of-aws'))
    const box = await start(
      t,
      Template().fromGCPRegistry(`${images.host}/shell:1`, { serviceAccountJSON: { type: 'service_account' } })
    )
    assert.equal(await box.files.read('/etc/of-image'), 'from the registry\n')
  })

  test('a ready command alone is waited for', async t => {
    const box = await start(t, ofBase().setReadyCmd(waitForFile('/etc/hostname')))
    assert.equal(await box.isRunning(), true)
  })

  test('what ready commands there are', () => {
    assert.match(waitForFile('/x').getCmd(), /-f .*x/)
    assert.match(waitForURL('http://localhost:1').getCmd(), /curl/)
    assert.match(waitForProcess('python3').getCmd(), /pgrep/)
    assert.equal(waitForTimeout(2_000).getCmd(), 'sleep 2')
  })

  test('a build tells what it does while it does it', async t => {
    const seen: { level: string; message: string; timestamp: Date }[] = []
    await built(t, ofBase().runCmd(`for i in $(seq 1 250); do echo "line $i"; done # ${fresh('not cached')}`), fresh('tpl'), {
      onBuildLogs: (it: (typeof seen)[number]) => seen.push(it),
    })
    const text = seen.map(it => it.message).join('\n')
    assert.match(text, /line 1\b/)
    assert.match(text, /line 250\b/)
    assert.ok(seen.every(it => /^(debug|info|warn|error)$/.test(it.level)))
  })

  test('a step that fails is a BuildError with its reason and place', async t => {
    const error = await fails(
      built(t, ofBase().runCmd('true').runCmd('echo why it failed >&2; exit 3')),
      BuildError
    )
    assert.match(error.message, /status 3/)
    assert.match(error.stack ?? '', /templates\.test\.ts/)
  })

  test('a template that is not there to build on is a BuildError', async t => {
    await fails(built(t, Template().fromTemplate(fresh('none')).runCmd('true')), BuildError)
  })

  test('a build in the background is asked about', async t => {
    const name = fresh('tpl')
    t.after(() => api('DELETE', `/templates/${name}`))
    const build = await Template.buildInBackground(ofBase().runCmd('sleep 1; echo made'), name)
    assert.equal(build.name, name)
    assert.ok(build.templateId && build.buildId)
    const first = await Template.getBuildStatus(build)
    assert.ok(['waiting', 'building', 'ready'].includes(first.status), first.status)
    assert.equal(first.buildID, build.buildId)
    const last = await until(
      async () => {
        const now = await Template.getBuildStatus(build)
        return (now.status === 'ready' || now.status === 'error') && now
      },
      'it is built',
      60_000
    )
    assert.equal(last.status, 'ready', JSON.stringify(last.reason))
    assert.ok(last.logEntries.some(it => it.message.includes('made')), JSON.stringify(last.logEntries))
    const rest = await Template.getBuildStatus(build, { logsOffset: 100_000 })
    assert.deepEqual(rest.logEntries, [])
  })

  test('a build that is not there is a BuildError', async () => {
    await fails(Template.getBuildStatus({ templateId: 'none', buildId: crypto.randomUUID() }), BuildError, /404/)
  })

  test('exists, by name and alias', async () => {
    assert.equal(await Template.exists(one.name), true)
    assert.equal(await Template.aliasExists(one.name), true)
    assert.equal(await Template.exists('base'), true)
    assert.equal(await Template.exists(fresh('none')), false)
  })

  test('a build with tags can be started by each of them', async t => {
    assert.deepEqual([...one.tags].sort(), ['stable', 'v1'])
    for (const tag of ['v1', 'stable']) {
      const box = await Sandbox.create(`${one.name}:${tag}`, { timeoutMs: 60_000 })
      t.after(() => box.kill())
      assert.equal(await box.files.read('/tmp/v'), '1\n')
    }
  })

  test('tags are assigned, listed and removed', async t => {
    const { name } = one
    const told = async () => (await Template.getTags(one.templateId)).map(it => it.tag).sort()
    const before = await told()
    const assigned = await Template.assignTags(`${name}:v1`, ['prod', 'v2'])
    assert.deepEqual([...assigned.tags].sort(), ['prod', 'v2'])
    const tags = await Template.getTags(one.templateId)
    assert.deepEqual(await told(), [...before, 'prod', 'v2'].sort())
    assert.ok(tags[0]!.createdAt instanceof Date && !Number.isNaN(tags[0]!.createdAt.getTime()))
    const box = await Sandbox.create(`${name}:prod`, { timeoutMs: 60_000 })
    t.after(() => box.kill())
    await Template.removeTags(name, ['prod', 'v2'])
    assert.deepEqual(await told(), before)
    await fails(Template.assignTags(fresh('none'), 'x'), TemplateError, /404/)
    await fails(Template.getTags(fresh('none')), TemplateError, /404/)
  })

  test('a template is built again under the same name', async t => {
    const name = fresh('tpl')
    await built(t, ofBase().runCmd('echo 1 > /tmp/v'), name)
    const old = await Sandbox.create(name, { timeoutMs: 60_000 })
    t.after(() => old.kill())
    await Template.build(ofBase().runCmd('echo 2 > /tmp/v'), name)
    const box = await Sandbox.create(name, { timeoutMs: 60_000 })
    t.after(() => box.kill())
    assert.equal(await box.files.read('/tmp/v'), '2\n')
    assert.equal(await old.files.read('/tmp/v'), '1\n')
  })

  test('a template is built on another', async t => {
    const box = await start(t, Template().fromTemplate(`${one.name}:v1`).runCmd('cat /tmp/v > /tmp/above'))
    assert.equal(await box.files.read('/tmp/above'), '1\n')
  })

  test('its processors and memory are those of its sandboxes', async t => {
    const box = await Sandbox.create(`${one.name}:v1`, { timeoutMs: 60_000 })
    t.after(() => box.kill())
    const info = await box.getInfo()
    assert.deepEqual([info.cpuCount, info.memoryMB], [1, 256])
  })

  test('templates are listed and deleted', async t => {
    const { name, templateId } = await built(t, ofBase().runCmd('true'))
    for (const path of ['/templates', '/v2/templates']) {
      const listed = await api('GET', path)
      assert.equal(listed.status, 200, listed.text)
      const found = listed.json.find((it: { templateID: string }) => it.templateID === templateId)
      assert.ok(found, `${path} has it`)
      assert.ok([...(found.aliases ?? []), ...(found.names ?? [])].some((it: string) => it.includes(name)))
    }
    assert.equal((await api('GET', `/templates/${templateId}`)).status, 200)
    assert.equal((await api('DELETE', `/templates/${templateId}`)).status, 204)
    assert.equal((await api('DELETE', `/templates/${templateId}`)).status, 404)
    assert.equal(await Template.exists(name), false)
  })

  test('the base image of E2B is base', async t => {
    const box = await start(t, Template().fromBaseImage().runCmd('true'))
    assert.equal((await box.commands.run('id -un')).stdout, 'user\n')
  })

  test('a Dockerfile on the base image is built', async t => {
    const box = await start(
      t,
      Template({ fileContextPath: files }).fromDockerfile(
        'FROM e2bdev/base\nENV FROM_DOCKERFILE=yes\nUSER root\nRUN echo docker > /etc/docker-made\nCOPY hello.txt /srv/\nUSER user\nWORKDIR /tmp\n'
      )
    )
    assert.equal(await box.files.read('/etc/docker-made'), 'docker\n')
    assert.equal(await box.files.read('/srv/hello.txt'), 'hello from the client\n')
    assert.equal((await box.commands.run('echo $FROM_DOCKERFILE; pwd')).stdout, 'yes\n/tmp\n')
  })

  test('an image of a registry that can be reached is pulled', async t => {
    const box = await start(t, Template().fromImage(`${images.host}/shell:1`).runCmd('cat /etc/of-image > /tmp/seen'))
    assert.equal(await box.files.read('/etc/of-image'), 'from the registry\n')
    assert.equal(await box.files.read('/tmp/seen'), 'from the registry\n')
    assert.equal((await box.commands.run('echo "$OF_IMAGE"')).stdout, 'yes\n')
  })

  test('an image that the registry has not is a BuildError that says so', async t => {
    await fails(built(t, Template().fromImage(`${images.host}/none:1`).runCmd('true')), BuildError, /none/)
  })

  test('a registry that cannot be reached is a BuildError that names it', async t => {
    await fails(built(t, Template().fromImage('127.0.0.1:1/none:1').runCmd('true')), BuildError, /127\.0\.0\.1:1/)
  })

  test('what makes no sense is refused by the SDK', async () => {
    assert.throws(() => Template().fromImage('x', { username: 'u', password: '' }), InvalidArgumentError)
    assert.throws(() => Template({ fileContextPath: files }).fromTemplate('base').copy('../out', '/x'), Error)
    assert.throws(() => Template().fromTemplate('base').addMcpServer('browserbase' as never), BuildError)
  })

  test('templates are also JSON and Dockerfiles', async () => {
    const template = Template({ fileContextPath: files }).fromImage('debian:12').runCmd('true').setEnvs({ A: '1' })
    assert.match(await Template.toJSON(template), /"RUN"/)
    assert.equal(Template.toDockerfile(template), 'FROM debian:12\nRUN true\nENV A=1\n')
  })

  test('skipCache builds everything again', async t => {
    const random = () => Template().fromTemplate('base').skipCache().runCmd('cat /proc/sys/kernel/random/uuid > /tmp/uuid')
    const one = await start(t, random())
    const two = await start(t, random())
    assert.notEqual(await one.files.read('/tmp/uuid'), await two.files.read('/tmp/uuid'))
  })

  test('a sandbox of a template says which', async t => {
    const box = await Sandbox.create(`${one.name}:v1`, { timeoutMs: 60_000 })
    t.after(() => box.kill())
    const info = await box.getInfo()
    assert.equal(info.templateId, one.templateId)
    assert.equal(info.name, one.name)
    const other = await sandbox(t)
    assert.notEqual((await other.getInfo()).templateId, one.templateId)
  })
})
