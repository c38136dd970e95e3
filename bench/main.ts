import { reportGrowth } from './growth.ts'
import { load, median, type Round } from './load.ts'
import { readNames, readOptions } from './read-options.ts'
import { reportSandbox } from './sandbox.ts'
import { reportSockets } from './sockets.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import { VARIANTS, type Variant } from './variants.ts'

const names = VARIANTS.map(({ name }) => name)
const USAGE = `npm run bench -- [--rounds 5] [--only a,b] [--growth] [--sandbox] [--sockets]

Measures everything, some minutes long, or only what is named: reports, and these variants:
${names.join(', ')}`
const values = readOptions(USAGE, {
  rounds: { type: 'string', default: '5' },
  only: { type: 'string' },
  growth: { type: 'boolean' },
  sandbox: { type: 'boolean' },
  sockets: { type: 'boolean' }
})
const rounds = Number(values.rounds)
const namesReport = values.growth || values.sandbox || values.sockets
const only = readNames(values.only, names, USAGE) ?? (namesReport ? [] : undefined)
const variants = VARIANTS.filter((variant) => !only || only.includes(variant.name))

const servers = new Map<string, ServerProcess>()
const measured = new Map<string, Round[]>()
try {
  for (const variant of variants) {
    const server = await startServer(variant.name)
    servers.set(variant.name, server)
    measured.set(variant.name, [])
    await checkAnswer(server, variant)
    await load(server, variant.request, variant.amount, variant.rate)
  }
  for (let round = 0; round < rounds; round++) {
    for (const variant of variants) {
      const server = servers.get(variant.name)!
      measured.get(variant.name)!.push(await load(server, variant.request, variant.amount, variant.rate))
    }
  }
  if (variants.length > 0) report()
} finally {
  for (const server of servers.values()) await server.stop()
}
if (!only || values.growth) await reportGrowth()
if (!only || values.sandbox) await reportSandbox()
if (!only || values.sockets) await reportSockets(rounds)

async function checkAnswer(server: ServerProcess, { request, check, name }: Variant): Promise<void> {
  const response = await fetch(server.url + request.path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...request.headers },
    body: JSON.stringify(request.body)
  })
  const text = await response.text()
  if (!check(response.status, text)) throw new Error(`${name} gives a wrong answer: ${text}`)
}

function report(): void {
  console.log(`median of ${rounds} interleaved rounds, node ${process.version}`)
  console.log(
    'CPU in µs a request: at full speed, and at the same rate for all; × is against the bare route\n'
  )
  console.log(
    row(['variant', 'req/s', 'p50 ms', 'p99 ms', 'CPU full', '×', 'CPU paced', '×', 'promised', 'RSS MB'])
  )
  for (const { name, baseline, promise } of variants) {
    const all = measured.get(name)!
    const bare = measured.get(baseline) ?? []
    const middle = (of: keyof Round) => median(all.map((each) => each[of]))
    const ratio = (of: keyof Round) =>
      median(all.map((each, index) => each[of] / (bare[index]?.[of] ?? Number.NaN)))
    console.log(
      row([
        name,
        middle('perSecond').toFixed(0),
        middle('p50').toFixed(1),
        middle('p99').toFixed(1),
        middle('cpuFull').toFixed(1),
        ratio('cpuFull').toFixed(2),
        middle('cpuPaced').toFixed(1),
        ratio('cpuPaced').toFixed(2),
        promise === undefined ? '' : `≤ ${promise}`,
        (servers.get(name)!.peakRss() / 1e6).toFixed(0)
      ])
    )
  }
}

function row(cells: readonly string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(16) : cell.padStart(11))).join('')
}
