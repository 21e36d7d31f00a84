// Runs JavaScript for a kernel. The code runs in the main thread, as in any program, and is evaluated through node's
// inspector in the mode that consoles use: const may be declared again, await works at the top, and the value of the
// last expression is given. A worker talks to the kernel. Being another thread, it can also stop code that never comes
// back; for that the main thread has to evaluate on its own, since it takes one message of an inspector at a time.
'use strict'
const { Worker, isMainThread, workerData, parentPort } = require('node:worker_threads')
const inspector = require('node:inspector')

const TOOLS = "globalThis[Symbol.for('interpreter')]"
const PIECE = 64 * 1024
const STOPPING_MS = 1000

if (isMainThread) main()
else work()

function main() {
  const { createRequire } = require('node:module')
  const { pathToFileURL } = require('node:url')
  const fs = require('node:fs')
  const path = require('node:path')
  const stream = require('node:stream')
  const util = require('node:util')

  // Node's own streams put what the pipe does not take into memory. These wait for the kernel to read, and write so little
  // at a time that code which is to be stopped does not go on writing.
  for (const [name, fd] of [['stdout', 1], ['stderr', 2]]) {
    const write = (chunk, _, done) => {
      for (let at = 0; at < chunk.length; ) at += fs.writeSync(fd, chunk, at, Math.min(chunk.length - at, PIECE))
      done()
    }
    const sync = Object.assign(new stream.Writable({ write, decodeStrings: true }), { fd, isTTY: false })
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => sync })
  }

  const local = createRequire(path.join(process.cwd(), 'code.js'))
  const inspect = (value) => util.inspect(value, { depth: 4, maxArrayLength: 1000, maxStringLength: 1_000_000 })
  const display = Symbol.for('Jupyter.display')

  const tools = {
    // what import() does in a file of the working directory
    async load(name) {
      const bare = String(name).replace(/^npm:(.[^@]*)(@[^/]*)?/, '$1')
      if (/^(node|file|data):/.test(bare)) return import(bare)
      let found
      try {
        found = local.resolve(bare)
      } catch (error) {
        // packages may have no entry for require, and node's own lookup starts beside this file
        if (error.code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') {
          throw new Error(`Cannot find module '${bare}'; install it with: npm install ${bare}`)
        }
        return import(bare)
      }
      return import(path.isAbsolute(found) ? pathToFileURL(found) : found)
    },
    // what a value looks like, by kind of content
    async show(value) {
      if (value === undefined) return '{}'
      const data = { 'text/plain': inspect(value) }
      if (value !== null && typeof value === 'object' && typeof value[display] === 'function') {
        Object.assign(data, await value[display]())
      }
      return JSON.stringify({ data })
    },
    fault(thrown) {
      const error = thrown instanceof Error || (thrown && typeof thrown.stack === 'string')
      const value = error ? String(thrown.message ?? '') : inspect(thrown)
      const lines = (error ? String(thrown.stack) : `Uncaught ${value}`).split('\n')
      const ours = lines.findIndex((line) => /^\s+at .*node:inspector/.test(line))
      return JSON.stringify({
        error: {
          name: error ? String(thrown.name ?? 'Error') : 'Error',
          value,
          traceback: ours < 0 ? lines : lines.slice(0, ours),
        },
      })
    },
  }
  const hidden = { enumerable: false, writable: false, configurable: false }
  Object.defineProperty(globalThis, Symbol.for('interpreter'), { value: tools, ...hidden })
  Object.assign(globalThis, { require: local, module: { exports: {} }, exports: {} })

  // what fails after its execution is over is told, and does not end the context
  process.on('uncaughtException', (error) => console.error('Uncaught', error))
  process.on('unhandledRejection', (error) => console.error('Uncaught (in promise)', error))
  process.on('SIGINT', () => {})
  const session = new inspector.Session()
  session.connect()
  const ask = (method, params) =>
    new Promise((done, failed) => session.post(method, params, (error, answer) => (error ? failed(error) : done(answer))))

  const fd = Number(process.argv[2])
  process.argv = [process.argv[0]]
  const worker = new Worker(__filename, { workerData: { fd }, execArgv: [] })
  // An orderly end would wait for the worker to let go of the inspector, so the worker ends the program.
  process.exit = process.reallyExit = () => {
    worker.postMessage({ exit: true })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }
  let restore = () => {}
  worker.on('message', ({ id, expression, env }) => {
    restore()
    if (expression === undefined) return
    // its own, since what was interrupted may come to an end while others run
    const mine = (restore = using(env))
    evaluate(expression)
      .catch((error) => ({ error: { name: 'Error', value: String(error.message), traceback: [] } }))
      .then((answer) => {
        mine()
        worker.postMessage({ id, answer })
      })
  })

  // sets variables, and gives what sets them back, once
  function using(env) {
    let before = Object.keys(env).map((name) => [name, process.env[name]])
    Object.assign(process.env, env)
    return () => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
      before = []
    }
  }

  async function evaluate(expression) {
    const { result, exceptionDetails } = await ask('Runtime.evaluate', { expression, replMode: true, awaitPromise: true })
    if (!exceptionDetails) return told('show', result)
    return told('fault', exceptionDetails.exception ?? { value: exceptionDetails.text })
  }

  async function told(name, { objectId, unserializableValue, value }) {
    const { result: own } = await ask('Runtime.evaluate', { expression: TOOLS })
    const { result, exceptionDetails } = await ask('Runtime.callFunctionOn', {
      objectId: own.objectId,
      functionDeclaration: `function (value) { return this.${name}(value) }`,
      arguments: [objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value }],
      awaitPromise: true,
      returnByValue: true,
    })
    if (objectId) ask('Runtime.releaseObject', { objectId }).catch(() => {})
    if (!exceptionDetails) return JSON.parse(result.value)
    const why = exceptionDetails.exception?.description ?? exceptionDetails.text
    return { error: { name: 'Error', value: `the value could not be shown: ${why}`, traceback: [] } }
  }
}

function work() {
  const net = require('node:net')
  const vm = require('node:vm')
  const { stripTypeScriptTypes } = require('node:module')

  // that taking types off is new to node is no news to whoever runs code
  process.removeAllListeners('warning')
  const session = new inspector.Session()
  session.connectToMainThread()

  const socket = new net.Socket({ fd: workerData.fd, readable: true, writable: true })
  const gone = () => process.kill(process.pid, 'SIGKILL')
  socket.setEncoding('utf8')
  socket.on('end', gone).on('error', gone).on('close', gone)

  let text = ''
  let running = 0
  let stopping = 0
  socket.on('data', (piece) => {
    text += piece
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const said = JSON.parse(text.slice(0, end))
      text = text.slice(end + 1)
      if (said.interrupt) interrupt()
      else execute(said)
    }
  })
  parentPort.on('message', ({ id, answer, exit }) => {
    if (exit) gone()
    else if (id === running && id !== stopping) finish(answer)
  })

  let last = 0
  function execute({ code, env, typescript }) {
    running = ++last
    let expression
    try {
      expression = prepared(code, typescript)
    } catch (error) {
      finish({ error: { name: error.name, value: error.message, traceback: [`${error.name}: ${error.message}`] } })
      return
    }
    parentPort.postMessage({ id: running, expression, env })
  }

  function finish(answer) {
    running = 0
    socket.write(JSON.stringify(answer) + '\n')
  }

  // It is over when the main thread has stopped, and not before: it might still write, or what comes next be stopped in its
  // place. Code that waits for something that never comes gives no answer, so none is waited for; and what is in the hands
  // of the system cannot be stopped at all.
  function interrupt() {
    if (running === 0 || running === stopping) return
    const mine = (stopping = running)
    const over = () => {
      if (running !== mine) return
      clearTimeout(late)
      finish({ error: { name: 'KeyboardInterrupt', value: '', traceback: ['KeyboardInterrupt: the code was interrupted'] } })
    }
    const late = setTimeout(over, STOPPING_MS)
    session.post('Runtime.terminateExecution', over)
    parentPort.postMessage({})
  }

  function prepared(code, typescript) {
    const script = typescript ? withoutTypes(code) : code
    // an object by itself would be taken for a block
    const trimmed = script.trim().replace(/;$/, '')
    if (/^\{[\s\S]*\}$/.test(trimmed) && parses(`(${trimmed}\n)`)) return `(${trimmed}\n)`
    return /\bimport\b/.test(script) ? withoutImports(script) : script
  }

  function withoutTypes(code) {
    try {
      return stripTypeScriptTypes(code, { mode: 'strip' })
    } catch {
      // enums and the like are more than types
      return stripTypeScriptTypes(code, { mode: 'transform' })
    }
  }

  function parses(script) {
    try {
      return new vm.Script(script) !== undefined
    } catch {
      return false
    }
  }

  // Import statements belong to modules, which cannot be evaluated bit by bit, and code that is evaluated by the inspector
  // has no import(). Both become a call that does the same.
  function withoutImports(script) {
    const names = (list) => list.split(',').map((name) => name.trim().replace(/\s+as\s+/, ': ')).filter(Boolean)
    return script
      .replace(
        /^([ \t]*)import\s*(?:([\w$]+)\s*,?\s*)?(?:\*\s*as\s+([\w$]+)\s+|\{([^}]*)\}\s*)?(?:from\s*)?(["'][^"'\n]+["'])(?:\s+with\s*\{[^}]*\})?[ \t]*;?/gm,
        (_, indent, standard, whole, list, from) => {
          const load = `await ${TOOLS}.load(${from})`
          const wanted = [...(standard ? [`default: ${standard}`] : []), ...names(list ?? '')]
          const parts = whole ? [`const ${whole} = ${load};`] : []
          if (wanted.length) parts.push(`const { ${wanted.join(', ')} } = ${whole ?? load};`)
          return indent + (parts.length ? parts.join(' ') : `${load};`)
        },
      )
      .replace(/(?<![\w$.'"`])import\s*\(/g, `${TOOLS}.load(`)
  }
}
