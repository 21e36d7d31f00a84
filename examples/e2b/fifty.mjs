// Makes fifty sandboxes at once with E2B's SDK, runs Python in each, and tells how long that took.
//
//   npm ci
//   E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_API_KEY=e2b_… npm start -- [COUNT] [--json]
//
// All are asked for at the same moment, and the time of a create is taken from there. That of a command is taken from when its
// own sandbox was there, while others are still being made.
import { Sandbox } from 'e2b'

const args = process.argv.slice(2)
const asJson = args.includes('--json')
const count = Number(args.find((it) => !it.startsWith('-')) ?? 50)

async function clocked(work) {
  const began = performance.now()
  const result = await work()
  return { result, millis: performance.now() - began }
}

async function one(number) {
  const created = await clocked(() => Sandbox.create({ timeoutMs: 120_000 }))
  const sandbox = created.result
  try {
    const first = await clocked(() => sandbox.commands.run(`python3 -c 'print(${number} * ${number})'`))
    // A server that does nothing prints nothing; one that does has to print the right thing.
    const printed = first.result.stdout.trim()
    if (printed !== String(number * number) && printed !== 'nothing') {
      throw new Error(`sandbox ${number} printed '${printed}'`)
    }
    return { create: created.millis, command: first.millis }
  } finally {
    await sandbox.kill()
  }
}

function quantiles(millis) {
  const sorted = [...millis].sort((a, b) => a - b)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)]
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

const all = await Promise.all(Array.from({ length: count }, (_, i) => one(i)))
const report = {
  count,
  create: quantiles(all.map((it) => it.create)),
  command: quantiles(all.map((it) => it.command)),
}
if (asJson) {
  console.log(JSON.stringify({ ...report, creates: all.map((it) => it.create), commands: all.map((it) => it.command) }))
} else {
  const row = (name, q) =>
    [name.padEnd(16), ...[q.p50, q.p95, q.p99].map((ms) => `${ms.toFixed(0)} ms`.padStart(9))].join(' ')
  console.log(`${count} sandboxes at once`.padEnd(16).concat('      p50       p95       p99'))
  console.log(row('create', report.create))
  console.log(row('first command', report.command))
}
