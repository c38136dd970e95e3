import { join } from 'node:path'
import registryPlugin, { createInProcessStores, createRegistry, type Stores } from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'
import { Ledger } from '../bench/soak/agents/ledger.ts'
import { answerTo, callIdOf, type Plan } from '../bench/soak/agents/plan.ts'
import { addPlannedRunnables } from '../bench/soak/agents/planned-runnables.ts'
import { ADAPTERS } from './helpers/wires/adapters.ts'
import { toComparable } from './helpers/wires/compare-reports.ts'
import { FollowedLog } from './helpers/wires/followed-log.ts'
import { readLog } from './helpers/wires/read-log.ts'
import { reportOfLog } from './helpers/wires/report-of-log.ts'
import type { Asked, Wire, WireJob, WireRun } from './helpers/wires/wire.ts'

/** Races at once. */
const AT_ONCE = 5

t.setTimeout(300_000)

/** The same stores, in which two answers to an input arrive before one counts: by turns the one that came first, and the other. */
function racing(stores: Stores, isHeld: (runId: string) => boolean): Stores {
  const waiting = new Map<string, () => Promise<boolean>>()
  let races = 0
  const answerInput: typeof stores.runs.answerInput = async (...given) => {
    const [runId, inputId] = given
    const decide = async () => stores.runs.answerInput(...given)
    if (!isHeld(runId)) return decide()
    const rival = waiting.get(inputId)
    if (rival === undefined) {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      let decided: Promise<boolean> | undefined
      waiting.set(inputId, () => (resolve((decided ??= decide())), promise))
      return promise
    }
    waiting.delete(inputId)
    if (races++ % 2 === 0) await rival()
    const isTaken = await decide()
    await rival()
    return isTaken
  }
  return { ...stores, runs: { ...stores.runs, answerInput } }
}

t.test('two wires answer at once: one answer counts, and every wire shows it', async (t) => {
  const registry = createRegistry()
  addPlannedRunnables(registry, new Ledger(join(t.testdir(), 'ledger')), 0)
  const app = Fastify({ forceCloseConnections: true })
  const inTurn = new Set<string>()
  const stores = racing(createInProcessStores(), (runId) => !inTurn.has(runId))
  await app.register(registryPlugin, { registry, stores })
  for (const adapter of ADAPTERS) await adapter.register(app, registry)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const wires = (await Promise.all(ADAPTERS.map((adapter) => adapter.connect(origin)))).flat()
  t.teardown(() => Promise.all(wires.map(async (wire) => wire.close?.())))

  const jobOf = (plan: Plan): WireJob => ({
    id: plan.id,
    kind: 'agent',
    name: 'solo',
    input: JSON.stringify(plan),
    callsClient: false
  })
  const race = async (one: Wire, two: Wire, index: number) => {
    const plan: Plan = { id: `race-${index}`, steps: [[{ tool: 'send' }]] }
    const job = jobOf(plan)
    const { runId, sessionId } = await wires[0]!.start(job, 0)
    const log = new FollowedLog()
    const run: WireRun = {
      job,
      runId,
      sessionId,
      hasSession: true,
      beyond: (seq) => log.beyond(seq),
      progress: () => log.progress()
    }
    // A task takes one message after another.
    if (one.answersInTurn && two.answersInTurn) inTurn.add(runId)
    const planned = answerTo(callIdOf(plan, 0, 0)).accept
    // They contradict each other, if they can.
    const accepts = one.answersByPlan ? [planned, two.answersByPlan === planned] : [!planned, planned]
    let settled: PromiseSettledResult<void>[] = []
    for await (const part of readLog(origin, runId)) {
      log.add(part)
      if (part.type !== 'tool.approval.request') continue
      const { approvalId: id, toolCallId } = part
      const asked = accepts.map((accept): Asked => ({ id, kind: 'approval', toolCallId, accept }))
      settled = await Promise.allSettled([one.answer(run, asked[0]!), two.answer(run, asked[1]!)])
    }
    log.end()
    const label = `${one.name} and ${two.name}`
    const answers = log.parts.flatMap((part) =>
      part.type === 'tool.approval.response' ? [part.approved] : []
    )
    t.equal(answers.length, 1, `${label}: one answer counts`)
    const lost = accepts[0] === accepts[1] ? [] : accepts.map((accept) => accept !== answers[0])
    for (const [at, wire] of [one, two].entries()) {
      const { status, reason } = settled[at] as PromiseRejectedResult
      if (lost[at] === false)
        t.equal(status, 'fulfilled', `${label}: ${wire.name} has won: ${String(reason)}`)
      else if (wire.refusal === undefined)
        t.equal(status, 'fulfilled', `${label}: ${wire.name} passes it over`)
      else if (lost[at]) t.match(String(reason), wire.refusal, `${label}: ${wire.name} is refused`)
    }
    const expected = reportOfLog(log.parts)
    for (const wire of wires) {
      if (wire.cannot?.('watch', job) !== undefined) continue
      const [wanted, found] = toComparable(wire, expected, (await wire.watch(run, true, 1)) ?? {})
      t.same(found, wanted, `${label}: over ${wire.name}`)
    }
  }

  const job = jobOf({ id: '', steps: [] })
  const asked: Asked = { id: '', kind: 'approval', toolCallId: '', accept: true }
  const able = wires.filter((wire) => wire.cannot?.('answer', job, asked) === undefined)
  const pairs = able.flatMap((one, at) => able.slice(at).map((two) => [one, two] as const))
  let next = 0
  const worker = async () => {
    for (let index; (index = next++) < pairs.length;) await race(...pairs[index]!, index)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  t.ok(able.length >= 9, 'most wires answer')
})
