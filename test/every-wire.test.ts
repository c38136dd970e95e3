import { join } from 'node:path'
import registryPlugin, { createRegistry } from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'
import { Ledger } from '../bench/soak/agents/ledger.ts'
import { addPlannedRunnables } from '../bench/soak/agents/planned-runnables.ts'
import { randomJob } from '../bench/soak/agents/random-plan.ts'
import { Random } from '../bench/soak/random.ts'
import { ADAPTERS, NO_WIRES, packagesWithSurfaces } from './helpers/wires/adapters.ts'
import { toComparable } from './helpers/wires/compare-reports.ts'
import { conductRun, type Conduct, type ConductedRun } from './helpers/wires/conduct-run.ts'
import { readLog } from './helpers/wires/read-log.ts'
import { stumbler } from './helpers/wires/stumbler.ts'
import type { Wire, WireJob } from './helpers/wires/wire.ts'

const CONVERSATIONS = 18
/** Conversations at once. */
const AT_ONCE = 6

// Workflows and plain runnables keep no turns, so that their sessions cannot be followed.
const WITH_TURNS = new Set(['solo', 'clerk', 'crew', 'switch', 'choir', 'chain', 'relay', 'merged'])

t.setTimeout(300_000)

t.test('every package with a surface is among the wires', async (t) => {
  const known = [...ADAPTERS.map((adapter) => adapter.package), ...Object.keys(NO_WIRES)]
  t.same(packagesWithSurfaces(), known.toSorted(), 'write an adapter in test/helpers/wires')
})

t.test('one run, every wire', async (t) => {
  // Always the same runs, unless another seed is given; how their events interleave differs all the same.
  const seed = Number(process.env['SEED'] ?? 11)
  t.comment(`SEED=${seed}`)
  const registry = createRegistry()
  addPlannedRunnables(registry, new Ledger(join(t.testdir(), 'ledger')), 1)
  registry.add(stumbler())
  const app = Fastify({ forceCloseConnections: true })
  await app.register(registryPlugin, { registry })
  for (const adapter of ADAPTERS) await adapter.register(app, registry)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const wires = (await Promise.all(ADAPTERS.map((adapter) => adapter.connect(origin)))).flat()
  t.teardown(() => Promise.all(wires.map(async (wire) => wire.close?.())))

  const counts: Record<string, number> = {}
  const count = (what: string) => (counts[what] = (counts[what] ?? 0) + 1)
  const check = (job: WireJob, starter: Wire, { expected, reports, acts }: ConductedRun) => {
    for (const act of acts) count(act)
    count(expected.status)
    for (const { wire, how, report } of reports) {
      const label = `${job.kind} ${job.name} over ${wire.name}, ${how}; ${acts.join(', ')}`
      if (report === undefined) {
        count(`nothing ${how} over ${wire.name}`)
        if (how === 'at the start') continue
        // A chat shows no answer of a run that has said and done nothing.
        const isEmpty = expected.text === '' && expected.calls.length === 0
        const isKept = expected.status === 'completed' && starter.keepsTurns !== false
        if (isKept && !isEmpty) t.fail(`${label}: nothing`)
        continue
      }
      count(`${how} over ${wire.name}`)
      const [wanted, found] = toComparable(wire, expected, report)
      t.same(found, wanted, label)
    }
  }

  const turns = planTurns(new Random(seed), wires)
  const converse = async (index: number) => {
    let sessionId: string | undefined
    for (const { job, ...turn } of turns[index]!) {
      const readParts = (runId: string) => readLog(origin, runId)
      const conducted = await conductRun({ wires, readLog: readParts, job: { ...job, sessionId }, ...turn })
      check(job, turn.starter, conducted)
      sessionId = conducted.sessionId
    }
  }
  let next = 0
  const worker = async () => {
    while (next < CONVERSATIONS) await converse(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  t.comment(JSON.stringify(counts))
  for (const { name } of wires) t.ok(counts[`start ${name}`], `${name} starts runs`)
  for (const status of ['completed', 'failed', 'canceled']) t.ok(counts[status], `runs are ${status}`)
})

type Turn = Omit<Conduct, 'wires' | 'readLog'>

/** Conversations: runs of one runnable that follow each other. All wires start about as many of them. */
function planTurns(random: Random, wires: readonly Wire[]): Turn[][] {
  const starts = new Map(wires.map((wire) => [wire, 0]))
  const planTurn = (
    id: string,
    conversation: number,
    turn: number,
    of: Pick<WireJob, 'kind' | 'name'>
  ): Turn => {
    const { kind, name } = of
    const plan =
      name === 'stumbler' ? stumble(id, random, (conversation + turn) % 2 === 0) : planOf(name, id, random)
    const input = JSON.stringify(plan)
    const job = { id, kind, name, input, callsClient: input.includes('"pick"') }
    const able = wires.filter((wire) => wire.cannot?.('start', job) === undefined)
    const fewest = Math.min(...able.map((wire) => starts.get(wire)!))
    const starter = random.pick(able.filter((wire) => starts.get(wire) === fewest))
    starts.set(starter, fewest + 1)
    const isCanceled = conversation % 4 === 1 || random.chance(0.1)
    const cancelAt = isCanceled ? 2 + random.below(30) : undefined
    return { job, starter, cancelAt, hasSession: WITH_TURNS.has(name), seed: random.below(1e9) }
  }
  return Array.from({ length: CONVERSATIONS }, (_, conversation) => {
    const first = randomJob(random, '')
    const of = conversation % 3 === 0 ? ({ kind: 'agent', name: 'stumbler' } as const) : first
    return Array.from({ length: 1 + random.below(3) }, (__, turn) =>
      planTurn(`wire-${conversation}-${turn}`, conversation, turn, of)
    )
  })
}

function stumble(id: string, random: Random, fails: boolean) {
  return { id, seed: random.below(1e9), fails }
}

function planOf(name: string, id: string, random: Random) {
  for (;;) {
    const job = randomJob(random, id)
    if (job.name === name) return job.plan
  }
}
