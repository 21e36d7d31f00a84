import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { InvalidArgumentError, NotFoundError, Sandbox, SandboxError, TimeoutError, type Result } from '@e2b/code-interpreter'
import { data, fails, gate, route, tokenOf, until, url } from './berth.ts'

describe('interpreter', () => {
  let made: Sandbox | undefined
  const box = (): Sandbox => {
    assert.ok(made)
    return made
  }

  before(async () => {
    made = await Sandbox.create({ timeoutMs: 600_000, envs: { FROM_CREATE: 'created' } })
  })
  after(async () => {
    await made?.kill()
  })

  /** Code that goes on when a file is there. */
  const waiting = (path: string) => `import os, time\nwhile not os.path.exists("${path}"): time.sleep(0.02)`

  async function one(code: string): Promise<Result> {
    const execution = await box().runCode(code)
    assert.equal(execution.error, undefined, execution.error?.traceback)
    assert.equal(execution.results.length, 1, JSON.stringify(execution.results))
    return execution.results[0]!
  }

  test('the value of the last line is the result', async () => {
    const execution = await box().runCode('x = 1; x + 41')
    assert.equal(execution.text, '42')
    assert.equal(execution.results[0]!.isMainResult, true)
    assert.deepEqual(execution.results[0]!.formats(), [])
  })

  test('state is kept from call to call', async () => {
    await box().runCode('import math\nkept = math.floor(7.9)')
    assert.equal((await box().runCode('kept')).text, '7')
  })

  test('a text has no quotes of its repr', async () => {
    assert.equal((await box().runCode('"hello"')).text, 'hello')
    assert.equal((await box().runCode(`"'x'"`)).text, "'x'", 'one pair is stripped, and no more')
  })

  test('executions are counted', async () => {
    const first = await box().runCode('1')
    const second = await box().runCode('2')
    assert.equal(second.executionCount, (first.executionCount ?? 0) + 1)
  })

  test('stdout and stderr come while it runs', async () => {
    const seen: string[] = []
    const errors: string[] = []
    const second = gate()
    const running = box().runCode(
      `import sys\nprint("one", flush=True)\n${waiting(second.path)}\nprint("two")\nprint("bad", file=sys.stderr)`,
      {
        onStdout: it => void seen.push(it.line),
        onStderr: it => void errors.push(it.line),
      }
    )
    await until(() => seen.length > 0, 'the first line is seen')
    assert.equal(seen.join(''), 'one\n')
    await second.open(box())
    const execution = await running
    assert.equal(seen.join(''), 'one\ntwo\n')
    assert.equal(errors.join(''), 'bad\n')
    assert.equal(execution.logs.stdout.join(''), 'one\ntwo\n')
    assert.equal(execution.logs.stderr.join(''), 'bad\n')
    assert.equal(execution.text, undefined)
  })

  test('characters beyond ASCII stay whole', async () => {
    const execution = await box().runCode('print("ü→😀" * 20000)')
    assert.equal(execution.logs.stdout.join(''), 'ü→😀'.repeat(20_000) + '\n')
  })

  test('an error has a name, a value and a traceback without colours', async () => {
    const seen: string[] = []
    const execution = await box().runCode('def f():\n  return 1 / 0\nf()', { onError: it => void seen.push(it.name) })
    assert.equal(execution.error?.name, 'ZeroDivisionError')
    assert.equal(execution.error?.value, 'division by zero')
    assert.match(execution.error?.traceback ?? '', /in f\(\)|in f/)
    assert.ok(!(execution.error?.traceback ?? '').includes('\u001b'))
    assert.deepEqual(seen, ['ZeroDivisionError'])
    assert.equal((await box().runCode('"still here"')).text, 'still here')
  })

  test('a SyntaxError is one', async () => {
    assert.equal((await box().runCode('def')).error?.name, 'SyntaxError')
  })

  test('several displays are several results, and only the last is the main one', async () => {
    const results: Result[] = []
    const execution = await box().runCode('display(1)\ndisplay("two")\n3', { onResult: it => void results.push(it) })
    assert.deepEqual(
      execution.results.map(it => [it.text, it.isMainResult]),
      [
        ['1', false],
        ['two', false],
        ['3', true],
      ]
    )
    assert.equal(results.length, 3)
  })

  test('html, markdown, svg, latex, json and javascript are results', async () => {
    assert.match((await one('from IPython.display import HTML\nHTML("<b>x</b>")')).html ?? '', /<b>x<\/b>/)
    assert.equal((await one('from IPython.display import Markdown\nMarkdown("# t")')).markdown, '# t')
    assert.match((await one('from IPython.display import SVG\nSVG("<svg xmlns=\'http://www.w3.org/2000/svg\'/>")')).svg ?? '', /<svg/)
    assert.equal((await one('from IPython.display import Latex\nLatex("$x$")')).latex, '$x$')
    assert.deepEqual((await one('from IPython.display import JSON\nJSON({"a": [1, 2]})')).json, { a: [1, 2] })
    assert.match((await one('from IPython.display import Javascript\nJavascript("1+1")')).javascript ?? '', /1\+1/)
  })

  test('a pdf is a result', async () => {
    const execution = await box().runCode('display({"application/pdf": "JVBERi0="}, raw=True)')
    assert.equal(execution.results[0]!.pdf, 'JVBERi0=')
    assert.deepEqual(execution.results[0]!.formats(), ['pdf'])
  })

  test('a picture is a png, and a jpeg when it is one', async () => {
    const png = await one('from PIL import Image\nImage.new("RGB", (4, 4), "red")')
    assert.equal(Buffer.from(png.png ?? '', 'base64').subarray(1, 4).toString(), 'PNG')
    const jpeg = await one(
      'import io\nfrom PIL import Image as I\nfrom IPython.display import Image\nb = io.BytesIO()\nI.new("RGB", (4, 4)).save(b, "JPEG")\nImage(data=b.getvalue(), format="jpeg")'
    )
    assert.deepEqual([...Buffer.from(jpeg.jpeg ?? '', 'base64').subarray(0, 2)], [0xff, 0xd8])
  })

  test('a table is data, and html', async () => {
    const result = await one('import pandas as pd\npd.DataFrame({"a": [1, 2], "b": ["x", "y"]})')
    assert.deepEqual(result.data, { a: [1, 2], b: ['x', 'y'] })
    assert.match(result.html ?? '', /<table/)
    assert.ok(result.formats().includes('data'))
  })

  const plot = (code: string) => one(`import matplotlib.pyplot as plt\nplt.close("all")\n${code}\nplt.show()`)

  test('a line chart has its points, and a picture', async () => {
    const result = await plot('plt.plot([1, 2, 3], [4, 5, 6], label="l")\nplt.title("T")\nplt.xlabel("X (s)")\nplt.ylabel("Y")')
    const chart = result.chart as any
    assert.equal(chart.type, 'line')
    assert.equal(chart.title, 'T')
    assert.match(chart.x_label, /X/)
    assert.equal(chart.x_unit, 's')
    assert.equal(chart.elements[0].label, 'l')
    assert.deepEqual(chart.elements[0].points, [
      [1, 4],
      [2, 5],
      [3, 6],
    ])
    assert.ok(Array.isArray(chart.x_ticks) && Array.isArray(chart.x_tick_labels))
    assert.equal(chart.x_scale, 'linear')
    assert.ok(result.png)
  })

  test('a scatter chart has its points', async () => {
    const chart = (await plot('plt.scatter([1, 2], [3, 4], label="s")')).chart as any
    assert.equal(chart.type, 'scatter')
    assert.deepEqual(chart.elements[0].points, [
      [1, 3],
      [2, 4],
    ])
  })

  test('a bar chart has its bars', async () => {
    const chart = (await plot('plt.bar(["a", "b"], [3, 7])')).chart as any
    assert.equal(chart.type, 'bar')
    assert.deepEqual(
      chart.elements.map((it: any) => [it.label, Number(it.value)]),
      [
        ['a', 3],
        ['b', 7],
      ]
    )
  })

  test('a pie chart has its pieces', async () => {
    const chart = (await plot('plt.pie([1, 3], labels=["a", "b"])')).chart as any
    assert.equal(chart.type, 'pie')
    assert.deepEqual(
      chart.elements.map((it: any) => it.label),
      ['a', 'b']
    )
    assert.ok(Math.abs(chart.elements[0].angle - 90) < 1)
    assert.equal(chart.elements[0].radius, 1)
  })

  test('a box plot has its quartiles', async () => {
    const chart = (await plot('plt.boxplot([[1, 2, 3, 4, 100]])')).chart as any
    assert.equal(chart.type, 'box_and_whisker')
    const { min, first_quartile, median, third_quartile, max } = chart.elements[0]
    assert.deepEqual([min, first_quartile, median, third_quartile, max], [1, 2, 3, 4, 4])
    assert.deepEqual(chart.elements[0].outliers, [100])
  })

  test('a picture that is no chart is an unknown one', async () => {
    assert.equal(((await plot('plt.imshow([[1, 2], [3, 4]])')).chart as any).type, 'unknown')
  })

  test('charts beside each other are one of several', async () => {
    const chart = (await plot('f, (a, b) = plt.subplots(1, 2)\na.plot([1, 2])\nb.bar(["x"], [1])')).chart as any
    assert.equal(chart.type, 'superchart')
    assert.deepEqual(
      chart.elements.map((it: any) => it.type),
      ['line', 'bar']
    )
  })

  test('variables of the sandbox and of a call are there, those of a call for it alone', async () => {
    assert.equal((await box().runCode('import os; os.getenv("FROM_CREATE")')).text, 'created')
    const call = await box().runCode('import os; os.getenv("OWN")', { envs: { OWN: 'mine' } })
    assert.equal(call.text, 'mine')
    assert.equal((await box().runCode('import os; print(os.getenv("OWN"))')).logs.stdout.join(''), 'None\n')
  })

  test('contexts are apart from each other', async () => {
    const first = await box().createCodeContext()
    const second = await box().createCodeContext({ language: 'python', cwd: '/tmp' })
    assert.equal(first.language, 'python')
    assert.equal(first.cwd, '/home/user')
    await box().runCode('v = 1', { context: first })
    assert.equal((await box().runCode('v', { context: second })).error?.name, 'NameError')
    assert.equal((await box().runCode('v', { context: first })).text, '1')
    assert.equal((await box().runCode('import os; os.getcwd()', { context: second })).text, '/tmp')
    const listed = await box().listCodeContexts()
    assert.ok(listed.length >= 4)
    assert.deepEqual(listed.at(-1), second)
    assert.ok(listed.some(it => it.language === 'javascript'))
    await box().removeCodeContext(first)
    await box().removeCodeContext(second.id)
    assert.ok(!(await box().listCodeContexts()).some(it => it.id === first.id || it.id === second.id))
    await fails(box().runCode('1', { context: first }), NotFoundError, /Context .* not found/)
  })

  test('a context is restarted with nothing in it', async () => {
    const context = await box().createCodeContext()
    await box().runCode('v = 1', { context })
    await box().restartCodeContext(context)
    assert.equal((await box().runCode('v', { context })).error?.name, 'NameError')
    await box().removeCodeContext(context)
    await fails(box().restartCodeContext('no-such-context'), NotFoundError)
    await fails(box().removeCodeContext('no-such-context'), NotFoundError)
  })

  test('a context and a language at once are refused', async () => {
    const [context] = await box().listCodeContexts()
    await fails(box().runCode('1', { context, language: 'python' } as object), InvalidArgumentError)
    const raw = await data(
      box(),
      '/execute',
      {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Access-Token': tokenOf(box()) },
        body: JSON.stringify({ code: '1', context_id: context!.id, language: 'python' }),
      },
      49999
    )
    assert.equal(raw.status, 400)
  })

  test('javascript runs, and keeps its state', async () => {
    const first = await box().runCode('const kept = [1, 2, 3]; console.log("said")', { language: 'javascript' })
    assert.equal(first.logs.stdout.join(''), 'said\n')
    const execution = await box().runCode('kept.map(it => it * 2)', { language: 'js' })
    assert.equal(execution.error, undefined, execution.error?.traceback)
    assert.match(execution.text ?? '', /2, 4, 6/)
    const failed = await box().runCode('throw new TypeError("no")', { language: 'javascript' })
    assert.equal(failed.error?.name, 'TypeError')
    assert.equal(failed.error?.value, 'no')
  })

  test('javascript waits for what is promised', async () => {
    const execution = await box().runCode('await new Promise(r => setTimeout(() => r("later"), 50))', { language: 'js' })
    assert.match(execution.text ?? '', /later/)
  })

  test('typescript runs, and keeps its state', async () => {
    await box().runCode('const twice = (n: number): number => 2 * n', { language: 'typescript' })
    const execution = await box().runCode('twice(21) as number', { language: 'ts' })
    assert.equal(execution.error, undefined, execution.error?.traceback)
    assert.equal(execution.text, '42')
  })

  test('bash runs, and keeps its state', async () => {
    await box().runCode('KEPT=here', { language: 'bash' })
    const execution = await box().runCode('echo "it is $KEPT"; echo bad >&2', { language: 'bash' })
    assert.match(execution.logs.stdout.join(''), /it is here/)
    assert.match(execution.logs.stderr.join(''), /bad/)
  })

  test('a language that nobody has is an error', async () => {
    for (const language of ['r', 'java', 'cobol']) {
      await fails(box().runCode('1', { language }), SandboxError, /^400/)
      const headers = { 'Content-Type': 'application/json', 'X-Access-Token': tokenOf(box()) }
      const raw = await data(box(), '/execute', { method: 'POST', headers, body: JSON.stringify({ code: '1', language }) }, 49999)
      assert.equal(raw.status, 400)
      assert.match(raw.text, /python.*bash|bash.*python/)
    }
  })

  test('shell lines and magics work as in a notebook', async () => {
    assert.match((await box().runCode('!echo from the shell')).logs.stdout.join(''), /from the shell/)
    assert.equal((await box().runCode('%pwd')).text, '/home/user')
  })

  test('files of the sandbox are files of the code', async () => {
    await box().files.write('data.csv', 'a\n1\n2\n')
    assert.equal((await box().runCode('import pandas as pd; int(pd.read_csv("data.csv").a.sum())')).text, '3')
  })

  test('a call that takes too long is a TimeoutError, and the kernel is interrupted', async () => {
    const context = await box().createCodeContext()
    await box().runCode('n = 0', { context })
    await fails(box().runCode('while True: n += 1', { context, timeoutMs: 1_000 }), TimeoutError, /timeoutMs/)
    // A client that went is noticed by what cannot be sent to it any more, every 5 s.
    const execution = await box().runCode('n > 0', { context, timeoutMs: 60_000 })
    assert.equal(execution.text, 'True')
    await box().removeCodeContext(context)
  })

  test('an aborted call interrupts the kernel', async () => {
    const context = await box().createCodeContext()
    const abort = new AbortController()
    const running = await fetch(`${url}/execute`, {
      method: 'POST',
      headers: { ...route(box(), 49999), 'Content-Type': 'application/json', 'X-Access-Token': tokenOf(box()) },
      body: JSON.stringify({ code: 'print("in", flush=True)\nwhile True: pass', context_id: context.id }),
      signal: abort.signal,
    })
    let said = ''
    for await (const piece of running.body!.pipeThrough(new TextDecoderStream())) {
      said += piece
      if (said.includes('in\\n')) break
    }
    abort.abort()
    assert.equal((await box().runCode('"free"', { context, timeoutMs: 60_000 })).text, 'free')
    await box().removeCodeContext(context)
  })

  test('variables of a call are given back as they were', async () => {
    const call = await box().runCode('import os; os.getenv("FROM_CREATE")', { envs: { FROM_CREATE: 'other' } })
    assert.equal(call.text, 'other')
    assert.equal((await box().runCode('import os; os.getenv("FROM_CREATE")')).text, 'created')
  })

  test('one context runs one thing at a time, two contexts two', async () => {
    const [a, b] = await Promise.all([box().createCodeContext(), box().createCodeContext()])
    let begun: (() => void) | undefined
    const first = new Promise<void>(resolve => (begun = resolve))
    const end = gate()
    const a1 = box().runCode(`print("in", flush=True)\n${waiting(end.path)}\nfinished = True`, {
      context: a,
      onStdout: () => begun?.(),
    })
    await first
    const a2 = box().runCode('finished', { context: a })
    assert.equal((await box().runCode('1', { context: b })).text, '1')
    await end.open(box())
    assert.equal((await a1).error, undefined)
    assert.equal((await a2).text, 'True', 'the second began when the first had ended')
    await Promise.all([box().removeCodeContext(a), box().removeCodeContext(b)])
  })

  test('a kernel that dies is told of, and there is another', async () => {
    const context = await box().createCodeContext()
    const execution = await box().runCode('import os, signal; os.kill(os.getpid(), signal.SIGKILL)', { context })
    assert.equal(execution.error?.name, 'ContextRestarting')
    await until(async () => (await box().runCode('"back"', { context })).text === 'back', 'it is back')
    await box().removeCodeContext(context)
  })

  test('nobody runs code without the token of the sandbox', async () => {
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"code":"1"}' }
    assert.equal((await data(box(), '/execute', init, 49999)).status, 401)
    const wrong = { ...init, headers: { ...init.headers, 'X-Access-Token': 'f'.repeat(64) } }
    assert.equal((await data(box(), '/execute', wrong, 49999)).status, 401)
    const health = await data(box(), '/health', {}, 49999)
    assert.equal(health.status, 200)
    assert.equal(health.json, 'OK')
  })

  test('what is asked of a context that is not there is 404, in words', async () => {
    const headers = { 'Content-Type': 'application/json', 'X-Access-Token': tokenOf(box()) }
    const body = JSON.stringify({ code: '1', context_id: 'none' })
    const raw = await data(box(), '/execute', { method: 'POST', headers, body }, 49999)
    assert.equal(raw.status, 404)
    assert.equal(raw.text, 'Context none not found')
  })

  test('silence is kept alive on the wire', async () => {
    const response = await fetch(`${url}/execute`, {
      method: 'POST',
      headers: { ...route(box(), 49999), 'Content-Type': 'application/json', 'X-Access-Token': tokenOf(box()) },
      body: JSON.stringify({ code: 'import time; print("said", flush=True); time.sleep(6)' }),
    })
    assert.equal(response.status, 200)
    const lines = (await response.text()).trim().split('\n').map(it => JSON.parse(it))
    assert.ok(lines.some(it => it.type === 'keepalive'))
    const said = lines.find(it => it.type === 'stdout')
    assert.equal(said.text, 'said\n')
    assert.ok(said.timestamp)
    assert.ok(!lines.some(it => Object.values(it).includes(null)), JSON.stringify(lines))
    assert.equal(lines.at(-1).type, 'end_of_execution')
    assert.equal(lines[0].type, 'number_of_executions')
  })

  test('kernels survive a pause', async () => {
    await box().runCode('survivor = "here"')
    await box().pause()
    await box().connect({ timeoutMs: 600_000 })
    assert.equal((await box().runCode('survivor')).text, 'here')
  })

  test('a sandbox of the base template has no interpreter: its port is not open', async t => {
    const bare = await Sandbox.create('base', { timeoutMs: 60_000 })
    t.after(() => bare.kill())
    await fails(bare.runCode('1'), TimeoutError, /port is not open/)
  })

  test('a new sandbox has contexts for python and javascript', async t => {
    const fresh = await Sandbox.create({ timeoutMs: 60_000 })
    t.after(() => fresh.kill())
    assert.deepEqual((await fresh.listCodeContexts()).map(it => [it.language, it.cwd]).sort(), [
      ['javascript', '/home/user'],
      ['python', '/home/user'],
    ])
  })

  test('a sandbox that is killed while code runs is told of', async t => {
    const dying = await Sandbox.create({ timeoutMs: 60_000 })
    t.after(() => dying.kill())
    const running = fails(
      dying.runCode('import time\nprint("in", flush=True)\ntime.sleep(60)', { onStdout: () => void dying.kill() }),
      TimeoutError,
      /killed/
    )
    await running
  })
})
