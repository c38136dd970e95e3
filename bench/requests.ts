import { median, printBeside } from './figures.ts'
import { load, type Round } from './load.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import type { Variant } from './variants.ts'

/** Turns per round: the finer servers alternate, the less the changing speed of the machine affects their ratio. */
const TURNS = 5

/** Measures servers, each a process of its own, with requests in interleaved rounds, and prints what they cost. */
export async function reportRequests(variants: readonly Variant[], rounds: number): Promise<void> {
  const servers = new Map<string, ServerProcess>()
  const measured = new Map<string, Round[]>()
  const bytes = new Map<string, number>()
  try {
    for (const variant of variants) {
      const server = await startServer(variant.name)
      servers.set(variant.name, server)
      measured.set(variant.name, [])
      bytes.set(variant.name, await checkAnswer(server, variant))
      await load(server, variant.request, variant.amount, variant.rate)
    }
    for (let turn = 0; turn < rounds * TURNS; turn++) {
      for (const { name, request, amount, rate } of variants)
        measured.get(name)!.push(await load(servers.get(name)!, request, amount / TURNS, rate))
    }
    console.log(`median of ${rounds * TURNS} interleaved turns, node ${process.version}`)
    print(variants, servers, measured, bytes)
    printBytes(variants, bytes)
  } finally {
    for (const server of servers.values()) await server.stop()
  }
}

/** The bytes of an answer. @throws if it is wrong */
async function checkAnswer(server: ServerProcess, { request, check, name }: Variant): Promise<number> {
  const response = await fetch(server.url + request.path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...request.headers },
    body: JSON.stringify(request.body)
  })
  const text = await response.text()
  if (!check(response.status, text)) throw new Error(`${name} gives a wrong answer: ${text}`)
  return Buffer.byteLength(text)
}

function print(
  variants: readonly Variant[],
  servers: ReadonlyMap<string, ServerProcess>,
  measured: ReadonlyMap<string, readonly Round[]>,
  bytes: ReadonlyMap<string, number>
): void {
  console.log(
    'CPU in µs a request: at full speed, and at the same rate for all; × is against the baseline, a bare route for most;' +
      ' the target is of CPU at full speed, in parentheses one of work to come; the × of RSS ≤ 2.2\n'
  )
  console.log(
    row([
      'variant',
      'req/s',
      '×',
      'p50 ms',
      'p99 ms',
      'CPU paced',
      '×',
      'CPU full',
      '×',
      'target',
      'RSS MB',
      '×',
      'bytes'
    ])
  )
  for (const { name, baseline, target, laterTarget } of variants) {
    const all = measured.get(name)!
    const bare = measured.get(baseline)
    const middle = (of: keyof Round) => median(all.map((each) => each[of]))
    // Empty where the baseline was not measured.
    const ratio = (of: keyof Round) =>
      bare === undefined ? '' : median(all.map((each, index) => each[of] / bare[index]![of])).toFixed(2)
    const peak = servers.get(name)!.peakRss()
    const barePeak = servers.get(baseline)?.peakRss()
    console.log(
      row([
        name,
        middle('perSecond').toFixed(0),
        ratio('perSecond'),
        middle('p50').toFixed(1),
        middle('p99').toFixed(1),
        middle('cpuPaced').toFixed(1),
        ratio('cpuPaced'),
        middle('cpuFull').toFixed(1),
        ratio('cpuFull'),
        laterTarget === undefined ? toVerdict(Number(ratio('cpuFull')), target) : `(≤ ${laterTarget})`,
        (peak / 1e6).toFixed(0),
        barePeak === undefined ? '' : (peak / barePeak).toFixed(2),
        String(bytes.get(name))
      ])
    )
  }
}

function toVerdict(ratio: number, target: number | undefined): string {
  if (target === undefined) return ''
  return `${ratio > target ? 'over ' : ''}≤ ${target}`
}

/** Prints the bytes of streams beside those of the AI SDK's shape: ours numbers each part and has its time, in a tenth and 512 bytes more. */
function printBytes(variants: readonly Variant[], bytes: ReadonlyMap<string, number>): void {
  const bare = bytes.get('bare-ui')
  if (bare === undefined) return
  console.log('\nbytes of a stream, beside that of the AI SDK\n')
  for (const { name, bytesTarget } of variants)
    if (bytesTarget !== undefined)
      printBeside(name, bare, bytes.get(name)!, { times: bytesTarget * 1.1 + 512 / bare })
}

function row(cells: readonly string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(17) : cell.padStart(11))).join('')
}
