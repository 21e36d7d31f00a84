/** A client that begins something and says so, to be killed in the middle of it: node client.ts WHAT SANDBOX [ARGUMENT]. */
import { Sandbox } from '@e2b/code-interpreter'
import { Volume } from 'e2b'

const [what, id, argument] = process.argv.slice(2) as [string, string, string | undefined]
const ready = () => void process.stdout.write('ready\n')
const forever = () => new Promise(() => setInterval(() => {}, 1_000))

function endless(): ReadableStream<Uint8Array> {
  let sent = 0
  return new ReadableStream({
    async pull(controller) {
      if (sent === 4) {
        ready()
        await forever()
      }
      sent++
      controller.enqueue(new Uint8Array(1 << 20))
    },
  })
}

const box = await Sandbox.connect(id)
switch (what) {
  case 'command':
    await box.commands.run('echo begun; exec sleep 3333', { onStdout: ready, timeoutMs: 0 })
    break
  case 'timed-command':
    await box.commands.run('echo begun; exec sleep 4444', { onStdout: ready, timeoutMs: 20_000 })
    break
  case 'flood':
    await box.commands.run('yes', { onStdout: async () => (ready(), forever()) as Promise<void>, timeoutMs: 0 })
    break
  case 'pty':
    await box.pty.create({ cols: 80, rows: 24, onData: ready, timeoutMs: 0 })
    break
  case 'watch':
    await box.files.watchDir('/tmp', ready, { recursive: true, timeoutMs: 0 })
    await box.files.write('/tmp/watched', 'x')
    break
  case 'upload':
    await box.files.write('/home/user/half', endless())
    break
  case 'download': {
    const reader = (await box.files.read('/home/user/large', { format: 'stream' })).getReader()
    await reader.read()
    ready()
    break
  }
  case 'follow': {
    const [first] = (await box.commands.list()).filter(it => it.args.join(' ').includes('7171'))
    await box.commands.connect(first!.pid, { timeoutMs: 0, onStdout: ready })
    break
  }
  case 'volume-upload':
    await (await Volume.connect(argument!)).writeFile('/half', endless())
    break
  case 'volume-download': {
    const reader = (await (await Volume.connect(argument!)).readFile('/large', { format: 'stream' })).getReader()
    await reader.read()
    ready()
    break
  }
  case 'stream': {
    const reader = (await fetch(`https://${box.getHost(3400)}/`)).body!.getReader()
    await reader.read()
    ready()
    break
  }
  case 'template-upload': {
    const upload = await fetch(argument!, { method: 'PUT', body: endless(), duplex: 'half' } as RequestInit)
    throw new Error(`it is over: ${upload.status}`)
  }
  case 'websocket': {
    const socket = new WebSocket(`wss://${box.getHost(3300)}/`)
    socket.onmessage = ready
    socket.onopen = () => socket.send('hello')
    break
  }
  case 'code':
    await box.runCode('print("begun", flush=True)\nwhile True: pass', { onStdout: ready, timeoutMs: 0 })
    break
  default:
    throw new Error(what)
}
await forever()
