import { createInProcessStores, createRunEngine, GLOBAL_REGISTRY, type Stores } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { median } from './figures.ts'
import { ANSWER } from './quick.ts'
import { withStores } from './with-stores.ts'

const TURNS = 50
/**
 * Messages of a session before its turns, of which the store in memory keeps 10,000, and over how many such sessions the turns of a round
 * are spread.
 */
const SESSIONS = [
  [10, TURNS],
  [1_000, 5],
  [100_000, 1]
] as const
const BATCH = 1_000

/** Shows what a turn costs after many messages, on each store. */
export async function report(rounds: number): Promise<void> {
  console.log(`\na turn of a session, CPU of this process in µs, median of ${rounds} rounds of ${TURNS}\n`)
  await withStores((name, stores) => reportTurns(name, stores ?? createInProcessStores(), rounds))
}

async function reportTurns(name: string, stores: Stores, rounds: number): Promise<void> {
  let shown = 0
  const model = scriptedModel(
    ({ prompt }) => {
      shown = prompt.length
      return ANSWER
    },
    { record: false }
  )
  const agent = new Agent({ name: 'desk', model, register: false })
  const engine = createRunEngine({ stores })
  const costs = new Map(SESSIONS.map(([messages]) => [messages, [] as number[]]))
  for (let round = 0; round <= rounds; round++)
    for (const [messages, sessions] of SESSIONS) {
      const ids = Array.from({ length: sessions }, (_, index) => `${messages}-${round}-${index}`)
      for (const id of ids) await fill(stores, id, messages)
      const before = process.cpuUsage()
      for (let turn = 0; turn < TURNS; turn++) {
        const run = await engine.start(agent, 'Where is it?', { sessionId: ids[turn % sessions] })
        await run.result()
      }
      const { user, system } = process.cpuUsage(before)
      if (shown < Math.min(messages, 50)) throw new Error(`the model was shown ${shown} messages`)
      // The first round warms up.
      if (round > 0) costs.get(messages)!.push((user + system) / TURNS)
    }
  await engine.close()
  const figures = [...costs].map(([messages, all]) => `of ${messages} ${median(all).toFixed(0).padStart(6)}`)
  console.log(`${name.padEnd(10)}${figures.join('   ')}`)
}

async function fill({ sessions }: Stores, sessionId: string, messages: number): Promise<void> {
  const key = {
    registry: GLOBAL_REGISTRY,
    kind: 'agent',
    name: 'desk',
    owner: 'anonymous',
    sessionId
  } as const
  for (let turn = 0; turn * BATCH < messages; turn++) {
    const pair = [
      { role: 'user', content: 'Where is my parcel?' },
      { role: 'assistant', text: 'It arrives on Monday.' }
    ] as const
    const count = Math.min(BATCH, messages) / pair.length
    await sessions.append(key, `t${turn}`, Array.from({ length: count }, () => pair).flat())
  }
}
