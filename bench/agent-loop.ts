import { parseArgs } from 'node:util'
import { createContext, createEventBus, createMemoryStores } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { streamText } from 'ai'
import { median } from './load.ts'

// What the loop of an agent costs for each 1,000 deltas that it streams, beside `streamText` of `ai` on the same model.

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, runs: { type: 'string', default: '20' } }
})
const DELTAS = 1_000
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
    const context = createContext({ stores: createMemoryStores(), events: createEventBus() })
    return count(agent.stream('Go', context), 'text')
  },
  'streamText of ai': async () => count(streamText({ model, prompt: 'Go' }).fullStream, 'text-delta')
}

async function count(parts: AsyncIterable<{ type: string }>, type: string): Promise<number> {
  let seen = 0
  for await (const part of parts) if (part.type === type) seen++
  return seen
}

/** Milliseconds of CPU of one run. */
async function measure(way: () => Promise<number>): Promise<number> {
  const runs = Number(values.runs)
  const before = process.cpuUsage()
  for (let run = 0; run < runs; run++) {
    const seen = await way()
    if (seen !== DELTAS) throw new Error(`${seen} deltas instead of ${DELTAS}`)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / runs
}

const names = Object.keys(WAYS)
const measured = new Map<string, number[]>(names.map((name) => [name, []]))
for (const name of names) await measure(WAYS[name]!)
for (let round = 0; round < Number(values.rounds); round++)
  for (const name of names) measured.get(name)!.push(await measure(WAYS[name]!))

const cost = (name: string) => median(measured.get(name)!)
const bare = cost('the model alone')
const overhead = (name: string) => cost(name) - bare
console.log(`ms of CPU for ${DELTAS} deltas, median of ${values.rounds} rounds, node ${process.version}\n`)
for (const name of names)
  console.log(
    `${name.padEnd(20)} ${cost(name).toFixed(2).padStart(8)}   above the model ${overhead(name).toFixed(2)}`
  )
const share = overhead('an agent') / overhead('streamText of ai')
console.log(`\npromised: at most 5 ms, and a tenth of streamText; it is ${(share * 100).toFixed(1)} % of it`)
