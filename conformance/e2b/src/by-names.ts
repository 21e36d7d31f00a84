/** A client that knows nothing but a domain and a key: node by-names.ts, with E2B_DOMAIN and E2B_API_KEY. */
import { Sandbox } from '@e2b/code-interpreter'
import { Volume } from 'e2b'

const box = await Sandbox.create({ timeoutMs: 120_000 })
const volume = await Volume.create(`by-names-${Math.random().toString(36).slice(2)}`)
try {
  await box.files.write('/tmp/f', 'written')
  await volume.writeFile('/f', 'kept')
  const told = {
    command: (await box.commands.run('echo by name')).stdout,
    file: await (await fetch(await box.downloadUrl('/tmp/f'))).text(),
    port: (await fetch(`https://${box.getHost(3999)}/`)).status,
    code: (await box.runCode('6 * 7')).text,
    volume: await (await Volume.connect(volume.volumeId)).readFile('/f'),
    listed: (await Sandbox.list().nextItems()).some(it => it.sandboxId === box.sandboxId),
  }
  console.log(JSON.stringify(told))
} finally {
  await Volume.destroy(volume.volumeId)
  await box.kill()
}
