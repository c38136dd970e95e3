import { PartialObjects } from '@svc/contract'
import { createContext, createEventBus, createInProcessStores } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { streamText } from 'ai'
import { median } from './figures.ts'

const RUNS = 20
const DELTAS = 1_000
const ANSWERS = 200
const model = scriptedModel(
  { text: Array.from({ length: DELTAS }, (_, n) => `word${n} `) },
  { record: false }
)
const agent = new Agent({ name: 'bench', model, register: false })
const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Go' }] }]

/** Ways to stream; each gives how many deltas it saw. */
const WAYS: Record<string, () => Promise<number>> = {
  'the model alone': async () => {
    const { stream } = await model.doStream({ prompt })
    return count(stream, 'text-delta')
  },
  'an agent': async () => {
    const context = createContext({ stores: createInProcessStores(), events: createEventBus() })
    return count(agent.stream('Go', context), 'text')
  },
  'streamText of ai': async () => count(streamText({ model, prompt: 'Go' }).fullStream, 'text-delta')
}

/** JSON in pieces as models write it, of about 80 bytes per item. */
function piecesOf(items: number): string[] {
  const list = Array.from({ length: items }, (_, n) => ({
    id: n,
    title: `Item ${n}`,
    tags: ['a', 'b'],
    text: 'Some words of it'
  }))
  return JSON.stringify(list).match(/[^]{1,12}/g)!
}

/** Microseconds of CPU per piece of an answer that comes at 100 of them a second, and so has a value of each fifth. */
function measurePartial(pieces: readonly string[]): number {
  const before = process.cpuUsage()
  for (let run = 0; run < ANSWERS; run++) {
    const objects = new PartialObjects()
    objects.add({ type: 'step.start', index: 0, attempt: 1 })
    for (const [index, text] of pieces.entries()) {
      objects.add({ type: 'text', text })
      objects.take(index * 10)
    }
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / ANSWERS / pieces.length
}

async function count(parts: AsyncIterable<{ type: string }>, type: string): Promise<number> {
  let seen = 0
  for await (const part of parts) if (part.type === type) seen++
  return seen
}

/** Milliseconds of CPU of one run. */
async function measure(way: () => Promise<number>): Promise<number> {
  const before = process.cpuUsage()
  for (let run = 0; run < RUNS; run++) {
    const seen = await way()
    if (seen !== DELTAS) throw new Error(`${seen} deltas instead of ${DELTAS}`)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / RUNS
}

/** Shows what the loop of an agent costs for 1,000 streamed deltas, beside `streamText` of `ai` on the same model. */
export async function report(rounds: number): Promise<void> {
  const names = Object.keys(WAYS)
  const measured = new Map<string, number[]>(names.map((name) => [name, []]))
  for (const name of names) await measure(WAYS[name]!)
  for (let round = 0; round < rounds; round++)
    for (const name of names) measured.get(name)!.push(await measure(WAYS[name]!))

  const cost = (name: string) => median(measured.get(name)!)
  const overhead = (name: string) => cost(name) - cost('the model alone')
  console.log(`\nms of CPU for ${DELTAS} deltas, median of ${rounds} rounds\n`)
  for (const name of names)
    console.log(
      `${name.padEnd(20)} ${cost(name).toFixed(2).padStart(8)}   above the model ${overhead(name).toFixed(2)}`
    )
  const share = overhead('an agent') / overhead('streamText of ai')
  console.log(
    '\nobjects while they are written, µs of CPU per delta of 12 characters, promised: at most 3 of an answer of 2 kB\n'
  )
  for (const items of [25, 150]) {
    const pieces = piecesOf(items)
    measurePartial(pieces)
    const taken = median(Array.from({ length: rounds }, () => measurePartial(pieces)))
    console.log(`${`${pieces.length} deltas`.padEnd(20)} ${taken.toFixed(2).padStart(8)}`)
  }
  console.log(
    `\npromised: at most 5 ms, and a tenth of streamText; it is ${(share * 100).toFixed(1)} % of it`
  )
}
