/** A registry of images on the loopback, with one image in it that is made of this machine's own shell. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { needed, run, until } from './berth.ts'

const PROGRAMS = ['bash', 'sh', 'cat', 'ls', 'mkdir', 'chmod', 'chown', 'ln', 'cp', 'mv', 'rm', 'id', 'tar', 'gzip', 'env', 'echo', 'touch', 'sleep', 'getent', 'cut', 'setpriv', 'stat', 'dirname', 'find', 'xargs', 'install']

export interface Registry {
  /** Such as 127.0.0.1:5000. */
  host: string
  close(): Promise<void>
}

export async function registry(): Promise<Registry> {
  const directory = await mkdtemp(join(tmpdir(), 'registry-'))
  // The server was told of this one: from a private address it takes nothing else.
  const host = needed('BERTH_REGISTRY')
  const config = join(directory, 'config.yml')
  await writeFile(
    config,
    `version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: ${directory}/data}}\nhttp: {addr: "${host}"}\n`
  )
  const server = spawn('docker-registry', ['serve', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  server.stderr.on('data', (it: Buffer) => (said += it.toString()))
  server.once('error', it => (said += it.message))
  let over = false
  const closed = new Promise<void>(resolve => server.once('close', () => resolve(void (over = true))))
  async function close() {
    server.kill()
    await closed
    await rm(directory, { recursive: true })
  }
  try {
    await until(
      () => {
        assert.ok(!over, `the registry ended: ${said}`)
        return fetch(`http://${host}/v2/`).then(
          it => it.ok,
          () => false
        )
      },
      'the registry answers'
    )
    await push(host, await layer(directory))
  } catch (error) {
    await close()
    throw error
  }
  return { host, close }
}

async function layer(directory: string): Promise<Buffer> {
  const script = `set -e; root=${directory}/root; mkdir -p $root/bin $root/etc $root/tmp $root/home/user $root/root
    for name in ${PROGRAMS.join(' ')}; do
      program=$(type -P $name); cp -L $program $root/bin/$name
      for library in $(ldd $program | grep -o '/[^ ]*'); do mkdir -p $root$(dirname $library); cp -Ln $library $root$library; done
    done
    mkdir -p $root/usr; ln -s ../bin $root/usr/bin
    printf 'root:x:0:0:root:/root:/bin/bash\\nuser:x:1000:1000::/home/user:/bin/bash\\n' > $root/etc/passwd
    printf 'root:x:0:\\nuser:x:1000:\\n' > $root/etc/group
    chown 1000:1000 $root/home/user; echo 'from the registry' > $root/etc/of-image
    tar -C $root -czf ${directory}/layer.tar.gz .`
  await run('bash', ['-c', script])
  return readFile(join(directory, 'layer.tar.gz'))
}

async function push(host: string, compressed: Buffer) {
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: { Env: ['PATH=/usr/bin:/bin', 'OF_IMAGE=yes'], WorkingDir: '/home/user' },
      rootfs: { type: 'layers', diff_ids: [digest(gunzipSync(compressed))] },
    })
  )
  for (const blob of [compressed, config]) {
    await upload(host, blob)
  }
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
    config: descriptor('application/vnd.docker.container.image.v1+json', config),
    layers: [descriptor('application/vnd.docker.image.rootfs.diff.tar.gzip', compressed)],
  })
  const put = await fetch(`http://${host}/v2/shell/manifests/1`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/vnd.docker.distribution.manifest.v2+json' },
    body: manifest,
  })
  assert.equal(put.status, 201, await put.text())
}

async function upload(host: string, blob: Buffer) {
  const begun = await fetch(`http://${host}/v2/shell/blobs/uploads/`, { method: 'POST' })
  const location = new URL(begun.headers.get('location')!, `http://${host}`)
  location.searchParams.set('digest', digest(blob))
  const put = await fetch(location, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/octet-stream' },
    body: new Uint8Array(blob),
  })
  assert.equal(put.status, 201, await put.text())
}

function descriptor(mediaType: string, blob: Buffer) {
  return { mediaType, size: blob.length, digest: digest(blob) }
}

function digest(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
