/** What the cases have in common: the server, sandboxes that go away by themselves, raw calls, and how to wait. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { after, before, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { Sandbox, type SandboxOpts } from 'e2b'

export const url = needed('E2B_API_URL')
export const key = needed('E2B_API_KEY')

export function needed(variable: string): string {
  const value = process.env[variable]
  if (!value) {
    throw new Error(`${variable} is not set; the suite is run by './berth test', which sets it`)
  }
  return value
}

/** A sandbox for one case, gone when the case is over. */
export async function sandbox(t: TestContext, opts: SandboxOpts = {}): Promise<Sandbox> {
  const made = await Sandbox.create({ timeoutMs: 180_000, ...opts })
  t.after(() => made.kill())
  return made
}

/** A sandbox for all cases of a group. */
export function shared(opts: SandboxOpts = {}): () => Sandbox {
  let made: Sandbox | undefined
  before(async () => {
    made = await Sandbox.create({ timeoutMs: 600_000, ...opts })
  })
  after(async () => {
    await made?.kill()
  })
  return () => {
    assert.ok(made, 'the sandbox of this group was not made')
    return made
  }
}

/** A tenant of its own, with a key. */
export async function tenant(limits: object): Promise<string> {
  const admin = (await readFile(`${needed('BERTH_DATA')}/keys/admin`, 'utf8')).trim()
  const name = fresh('tenant')
  const headers = { Authorization: `Bearer ${admin}`, 'Content-Type': 'application/json' }
  const put = await fetch(`${url}/v1/admin/tenants/${name}`, { method: 'PUT', headers, body: JSON.stringify(limits) })
  assert.equal(put.status, 200, await put.text())
  const made = await fetch(`${url}/v1/admin/tenants/${name}/keys`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ name: 'conformance' }),
  })
  assert.equal(made.status, 201)
  return ((await made.json()) as { key: string }).key
}

/** The token by which the data plane of a sandbox is entered; the SDK keeps it to itself. */
export function tokenOf(box: Sandbox): string {
  const { envdAccessToken } = box as unknown as { envdAccessToken?: string }
  assert.ok(envdAccessToken)
  return envdAccessToken
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  // Shapes are what the cases are about, so nothing is assumed here.
  json: any
}

async function answer(response: Response): Promise<Answer> {
  const text = await response.text()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: response.status, headers: response.headers, text, json }
}

/** A call of the control plane, where the SDK has none or hides what is asked. */
export async function api(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {}
): Promise<Answer> {
  return answer(
    await fetch(url + path, {
      method,
      headers: {
        'X-API-Key': key,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    })
  )
}

/** The headers by which a request on the API's own port is for a port of a sandbox. */
export function route(box: Sandbox | string, port = 49983): Record<string, string> {
  return {
    'E2b-Sandbox-Id': typeof box === 'string' ? box : box.sandboxId,
    'E2b-Sandbox-Port': String(port),
    ...(typeof box === 'string' || port !== 49983 ? {} : { 'X-Access-Token': tokenOf(box) }),
  }
}

/** A request to a port of a sandbox. */
export async function data(box: Sandbox | string, path: string, init: RequestInit = {}, port = 49983): Promise<Answer> {
  return answer(await fetch(url + path, { ...init, headers: { ...route(box, port), ...(init.headers as object) } }))
}

/** A unary call of the data plane, as Connect spells it in JSON. */
export async function unary(
  box: Sandbox,
  method: string,
  message: unknown,
  headers: Record<string, string> = {}
): Promise<Answer> {
  return data(box, `/${method}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Connect-Protocol-Version': '1', ...headers },
    body: JSON.stringify(message),
  })
}

export interface Envelope {
  flags: number
  json: any
}

export interface Stream {
  status: number
  headers: Headers
  envelopes: Envelope[]
}

/** A streaming call of the data plane, read to its end. */
export async function stream(
  box: Sandbox,
  method: string,
  message: unknown,
  headers: Record<string, string> = {}
): Promise<Stream> {
  const response = await fetch(`${url}/${method}`, {
    method: 'POST',
    headers: {
      ...route(box),
      'Content-Type': 'application/connect+json',
      'Connect-Protocol-Version': '1',
      ...headers,
    },
    body: envelope(message),
  })
  return {
    status: response.status,
    headers: response.headers,
    envelopes: envelopes(Buffer.from(await response.arrayBuffer())),
  }
}

export function envelope(message: unknown): Buffer<ArrayBuffer> {
  const json = Buffer.from(JSON.stringify(message))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(json.length, 1)
  return Buffer.concat([head, json])
}

export function envelopes(bytes: Buffer): Envelope[] {
  const found: Envelope[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1)
    found.push({ flags: bytes[at]!, json: JSON.parse(bytes.subarray(at + 5, end).toString()) })
    at = end
  }
  return found
}

type ErrorClass<E extends Error> = abstract new (...args: never[]) => E

/** The error of a call that has to fail, of exactly this class and no subclass of it. */
export async function fails<E extends Error>(work: Promise<unknown>, type: ErrorClass<E>, text?: RegExp): Promise<E> {
  const error = await work.then(
    value => assert.fail(`it should have failed with ${type.name}, and gave ${JSON.stringify(value)}`),
    (reason: unknown) => reason
  )
  if (!(error instanceof Error) || error.constructor !== type) {
    assert.fail(`it should have failed with ${type.name}, and did with ${describeError(error)}`)
  }
  if (text) {
    assert.match(error.message, text)
  }
  return error as E
}

function describeError(error: unknown): string {
  return error instanceof Error ? `${error.constructor.name}: ${error.message}\n${error.stack}` : String(error)
}

/** A file that a command or code in a sandbox waits for: what has to happen before is not a matter of time then. */
export function gate(): { path: string; closed: string; open(box: Sandbox): Promise<unknown> } {
  const path = fresh('/tmp/gate')
  return {
    path,
    closed: `until [ -e ${path} ]; do sleep 0.02; done`,
    open: box => box.files.write(path, ''),
  }
}

/** Looks again and again until what is seen is true, and returns it. */
export async function until<T>(
  look: () => T | undefined | false | null | Promise<T | undefined | false | null>,
  what: string | (() => string),
  timeoutMs = 60_000
): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (seen) {
      return seen
    }
    assert.ok(Date.now() < deadline, `not within ${timeoutMs} ms: ${typeof what === 'string' ? what : what()}`)
    await pause(50)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/** A name that no other case uses. */
export function fresh(prefix: string): string {
  return `${prefix}-${Math.random().toString(36).slice(2, 10)}`
}

export async function text(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text()
}

/** All pages of a list, one after the other. */
export async function all<T>(pages: { hasNext: boolean; nextItems(): Promise<T[]> }): Promise<T[]> {
  const found: T[] = []
  while (pages.hasNext) {
    found.push(...(await pages.nextItems()))
  }
  return found
}

/** How many processes of a sandbox have this in their command line. */
export async function processes(box: Sandbox, pattern: string): Promise<number> {
  // The brackets keep pgrep from finding the shell that runs it.
  const found = await box.commands.run(`pgrep -fc '[${pattern[0]}]${pattern.slice(1)}' || true`, { user: 'root' })
  assert.match(found.stdout, /^\d+\n$/, found.stderr)
  return Number(found.stdout)
}

export const run = promisify(execFile)

export const ZERO_ID = 'i' + '0'.repeat(20)
