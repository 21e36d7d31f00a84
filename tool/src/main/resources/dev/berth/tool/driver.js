// Runs code that comes on descriptor 3 as lines "<mark> <limit> <length> <base64>" and keeps its names from one to the next.
// Says on both streams where each begins and ends: NUL <mark> "<", NUL <mark> ">"; on stdout a line of JSON follows.
'use strict';
(() => {
  const fs = require('fs');
  const net = require('net');
  const repl = require('repl');
  const util = require('util');
  const {Readable, Writable} = require('stream');

  const once = process.argv[1] === 'once';
  process.argv.splice(1);
  const [OUT, ERR] = [4, 5];
  const exit = process.exit.bind(process);
  const {stdout, stderr} = process;

  // The pipe is shared with process.stdout, which may have made it non-blocking.
  function put(fd, text) {
    let rest = Buffer.from(text);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(fs.writeSync(fd, rest));
      } catch (e) {
        if (e.code !== 'EAGAIN') throw e;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
    }
  }

  // The frames of this program and of the REPL are nobody's business.
  function describe(error) {
    if (!(util.types.isNativeError(error) && typeof error.stack === 'string')) {
      return 'Uncaught ' + util.inspect(error);
    }
    const ours = /^\s+at (.*(node:(vm|repl|domain|events|net|internal)|\[eval\])|new Promise \(<anonymous>\)$)/;
    try {
      delete error.domainThrown;
      error.stack = error.stack.split('\n').filter(line => !ours.test(line)).join('\n');
    } catch {
      // frozen
    }
    return 'Uncaught ' + util.inspect(error);
  }

  // The REPL has what plain vm lacks: await at the top, import(), and require that looks in the working directory.
  const server = repl.start({
    prompt: '',
    input: new Readable({read() {}}),
    output: new Writable({write(chunk, encoding, done) { done(); }}),
    terminal: false,
    useGlobal: true,
    breakEvalOnSigint: true,
  });
  server.removeAllListeners('SIGINT'); // it would close itself at the second
  server._domain?.removeAllListeners('error');
  server._domain?.on('error', late);
  process.on('unhandledRejection', late);

  function late(error) {
    if (fail) {
      fail(error);
      return;
    }
    put(ERR, describe(error) + '\n');
    process.exitCode = 1;
  }

  let fail;
  process.on('SIGINT', () => fail?.(new Error('interrupted')));

  function flush(stream) {
    return stream.destroyed || stream.writableEnded
      ? undefined
      : new Promise(done => Writable.prototype.write.call(stream, '', () => done()));
  }

  async function flushAll() {
    await flush(stdout);
    await flush(stderr);
  }

  function evaluate(code, name) {
    return new Promise((resolve, reject) => {
      fail = reject;
      // What the REPL does to be interruptible takes the signal from its listeners, unless they listen anew.
      const listeners = process.listeners('SIGINT');
      process.removeAllListeners('SIGINT');
      try {
        start(code, name, resolve, reject);
      } finally {
        listeners.forEach(listener => process.on('SIGINT', listener));
      }
    });
  }

  function start(code, name, resolve, reject) {
    server.eval(code + '\n', server.context, name, (error, value) => {
      if (error) {
        reject(error instanceof repl.Recoverable ? error.err : error);
      } else {
        resolve(value);
      }
    });
  }

  let calls = 0;
  async function run(code, limit) {
    calls++;
    try {
      const value = await evaluate(code, once ? 'code' : 'call-' + calls);
      if (value === undefined) return {code: 0};
      const result = util.inspect(value);
      return result.length > limit
        ? {code: 0, result: result.slice(0, limit), cut: result.length - limit}
        : {code: 0, result};
    } catch (error) {
      await flushAll();
      put(ERR, describe(error) + '\n');
      return {code: error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' || error?.message === 'interrupted' ? 130 : 1};
    } finally {
      fail = undefined;
    }
  }

  async function handle(line) {
    const fields = line.split(' ');
    if (fields.length !== 4 || fields[3].length !== Number(fields[2])) return;
    const mark = '\0' + fields[0];
    if (!once) {
      put(ERR, mark + '<');
      put(OUT, mark + '<');
    }
    const outcome = await run(Buffer.from(fields[3], 'base64').toString(), Number(fields[1]));
    const ascii = JSON.stringify(outcome).replace(/[\u007f-\uffff]/g,
      c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
    await flushAll();
    put(ERR, mark + '>');
    put(OUT, mark + '>' + ascii + '\n');
    if (once) {
      process.exitCode = outcome.code || process.exitCode;
      requests.destroy();
    }
  }

  const requests = new net.Socket({fd: 3, readable: true, writable: false});
  let pending = '';
  let queue = Promise.resolve();
  requests.setEncoding('latin1');
  requests.on('data', chunk => {
    const lines = (pending + chunk).split('\n');
    pending = lines.pop();
    for (const line of lines) queue = queue.then(() => handle(line));
  });
  requests.on('end', () => { if (!once) exit(0); });
})();
