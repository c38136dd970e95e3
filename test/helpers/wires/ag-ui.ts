import type { Message, ResumeEntry } from '@ag-ui/client'
import agUi from '@svc/ag-ui'
import { answerTo } from '../../../bench/soak/agents/plan.ts'
import { ThreadAgent, type Interrupt } from './ag-ui-thread.ts'
import {
  PICK,
  type Report,
  type StartedRun,
  type Wire,
  type WireAdapter,
  type WireJob,
  type WireRun
} from './wire.ts'

/** AG-UI with the client of the protocol. */
export const agUiWire: WireAdapter = {
  package: '@svc/ag-ui',
  async register(app, registry) {
    await app.register(agUi, { registry, clientTools: true })
  },
  connect: async (origin) => [new AgUiWire(origin)]
}

const { input: parameters, ...pick } = PICK
const TOOLS = [{ ...pick, parameters }]

class AgUiWire implements Wire {
  readonly name = 'AG-UI'
  readonly answersByPlan = true
  readonly hides = {
    asked: 'an interrupt is what the run waits for where a stream ends',
    resultTypes: 'results are texts',
    unendedEdits: 'edited arguments come with the result'
  }
  readonly #origin: string

  constructor(origin: string) {
    this.#origin = origin
  }

  async start(job: WireJob): Promise<StartedRun> {
    const { id, input, sessionId = `thread-${id}`, callsClient } = job
    const agent = this.#agent(job, sessionId, [{ id, role: 'user', content: input }])
    const begun = Promise.withResolvers<string>()
    const run = agent.runAgent(
      { runId: id, tools: callsClient ? TOOLS : [] },
      { onRunStartedEvent: ({ event }) => begun.resolve(event.runId) }
    )
    run.catch(begun.reject)
    const rest = run.then(async () => agent.report(await begun.promise))
    return { runId: await begun.promise, sessionId, rest }
  }

  async watch(run: WireRun, isLate: boolean): Promise<Partial<Report> | undefined> {
    const agent = this.#agent(run.job, run.sessionId)
    for (let seq = 0; ;) {
      await agent.connectAgent()
      const report = agent.report(run.runId)
      // A thread has the turns of its session: runs that failed, or were canceled, have left none.
      if (report !== undefined || isLate || agent.lastRunId !== run.runId) return report
      seq = await run.beyond(seq)
    }
  }

  // A client answers all that the thread waits for at once.
  async answer({ job, runId, sessionId }: WireRun): Promise<void> {
    const agent = this.#agent(job, sessionId)
    await agent.connectAgent()
    const calls = agent.callsOf(runId)
    const resume = (agent.pendingInterrupts as Interrupt[]).map(({ id, reason, message, toolCallId }) => {
      const key = (calls.find((call) => call.id === toolCallId)?.args as { key?: string } | undefined)?.key
      return reason === 'tool_call' ? approve(id, key!) : fillIn(id, message!)
    })
    const open = calls.filter(({ name, isClosed }) => name === 'pick' && !isClosed)
    for (const { id, args } of open) agent.addMessage(toResult(id, (args as { key: string }).key))
    if (resume.length === 0 && open.length === 0) return
    await agent.runAgent({ tools: TOOLS, ...(resume.length > 0 && { resume }) })
  }

  async cancel({ job, sessionId }: WireRun): Promise<void> {
    const { url } = this.#agent(job, sessionId)
    const response = await fetch(`${url}/threads/${sessionId}/run`, { method: 'DELETE' })
    if (response.status !== 204) throw new Error(`canceled with ${response.status}`)
  }

  #agent({ kind, name }: WireJob, threadId: string, initialMessages: Message[] = []): ThreadAgent {
    return new ThreadAgent({ url: `${this.#origin}/ag-ui/${kind}/${name}`, threadId, initialMessages })
  }
}

function approve(interruptId: string, key: string): ResumeEntry {
  return { interruptId, status: 'resolved', payload: { approved: answerTo(key).accept } }
}

function fillIn(interruptId: string, message: string): ResumeEntry {
  const { accept, choice } = answerTo(/for (.*)\?/.exec(message)![1]!)
  return accept
    ? { interruptId, status: 'resolved', payload: { choice } }
    : { interruptId, status: 'cancelled' }
}

function toResult(toolCallId: string, key: string): Message {
  const { accept, choice } = answerTo(key)
  const id = `result of ${toolCallId}`
  return { id, role: 'tool', toolCallId, content: `picked ${choice}`, ...(!accept && { error: 'no' }) }
}
