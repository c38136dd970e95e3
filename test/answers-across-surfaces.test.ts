import t from 'tap'
import { join } from 'node:path'
import type { NumberedPart } from '@svc/registry'
import { answer, isAsking, startJob, type Asking, type Surface } from '../bench/soak/agents/clients.ts'
import { followRun, readLog } from '../bench/soak/agents/follow-run.ts'
import { answerTo, callIdOf, outcomeOf, type Plan, type ToolName } from '../bench/soak/agents/plan.ts'
import { Service } from '../bench/soak/agents/service.ts'
import { Random } from '../bench/soak/random.ts'

t.setTimeout(180_000)

// Each process is killed while every run waits, and the next one takes the answers, over another surface.
const RUNS: { startedOver: Surface; asks: ToolName[]; answeredOver: Surface[] }[] = [
  { startedOver: 'http', asks: ['ask', 'pick', 'send'], answeredOver: ['socket', 'a2a', 'socket'] },
  { startedOver: 'socket', asks: ['pick', 'send', 'ask_once'], answeredOver: ['http', 'a2a', 'http'] },
  { startedOver: 'socket', asks: ['send_once', 'ask', 'pick'], answeredOver: ['a2a', 'http', 'a2a'] },
  // Messages of A2A carry no tools of the client.
  { startedOver: 'a2a', asks: ['ask', 'send', 'ask_once'], answeredOver: ['http', 'socket', 'http'] }
]

t.test(
  'a question, a client tool and an approval of one run, each answered elsewhere after a kill -9',
  async (t) => {
    const folder = t.testdir()
    const service = new Service({ db: join(folder, 'app.db'), ledger: join(folder, 'ledger'), pace: 1 })
    t.teardown(() => service.kill())
    await service.start()
    const runs = await Promise.all(
      RUNS.map(async (run, index) => {
        const plan = acceptedPlan(`run${index}`, run.asks)
        const job = { id: plan.id, kind: 'agent', name: 'solo', plan } as const
        const runId = await startJob(service, job, run.startedOver)
        const asked = new Questions()
        const ended = followRun(service, runId, {
          random: new Random(index),
          onPart: (part) => asked.take(part)
        })
        return { ...run, plan, runId, asked, ended }
      })
    )
    for (const round of [0, 1, 2]) {
      const questions = await Promise.all(runs.map(({ asked }) => asked.get(round)))
      await service.kill()
      await service.start()
      await Promise.all(
        runs.map(({ runId, answeredOver }, index) =>
          answer(service, runId, questions[index]!, answeredOver[round]!)
        )
      )
    }
    for (const { plan, asks, runId, ended } of runs) {
      const received = await ended
      t.same(received, await readLog(service, runId), 'the reader of before the kills has every part once')
      t.equal(received.at(-1)?.type, 'finish', plan.id)
      const outcomes = received.flatMap((part) => (part.type === 'tool.result' ? [part.result] : []))
      t.same(
        outcomes,
        asks.map((tool, step) => outcomeOf(tool, callIdOf(plan, step, 0))),
        plan.id
      )
      t.equal(received.filter(isAsking).length, 3, 'each is asked once')
    }
  }
)

/** The questions of a run in their order. */
class Questions {
  readonly #all: Asking[] = []
  #wake: (() => void) | undefined

  take(part: NumberedPart): void {
    if (!isAsking(part)) return
    this.#all.push(part)
    this.#wake?.()
  }

  async get(index: number): Promise<Asking> {
    while (this.#all[index] === undefined) await new Promise<void>((resolve) => (this.#wake = resolve))
    return this.#all[index]
  }
}

// A plan whose calls are all answered with yes.
function acceptedPlan(name: string, asks: readonly ToolName[]): Plan {
  const steps = asks.map((tool) => [{ tool }])
  for (let count = 0; ; count++) {
    const plan = { id: `${name}-${count}`, steps }
    if (steps.every((_, step) => answerTo(callIdOf(plan, step, 0)).accept)) return plan
  }
}
