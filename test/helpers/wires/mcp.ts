import type { Client } from '@modelcontextprotocol/client'
import mcp from '@svc/mcp'
import type { PartOf } from '@svc/registry'
import { connectMcp, readRun, requestTask, type McpResult } from './mcp-requests.ts'
import { reportOfLog } from './report-of-log.ts'
import type { Act, Asked, Report, StartedRun, Wire, WireAdapter, WireJob, WireRun } from './wire.ts'

/** MCP in both revisions with the official client, and with tasks, which it does not know. */
export const mcpWires: WireAdapter = {
  package: '@svc/mcp',
  async register(app, registry) {
    await app.register(mcp, { registry, taskAfter: 0 })
  },
  async connect(origin) {
    const url = `${origin}/mcp`
    const [modern, legacy] = await Promise.all(
      ['2026-07-28', '2025-11-25'].map((revision) => connectMcp(url, revision))
    )
    return [
      new TaskWire(url, modern!),
      new CallWire('2026-07-28', modern!),
      new CallWire('2025-11-25', legacy!)
    ]
  }
}

const NO_TOOLS = 'clients of MCP bring no tools'

/** Calls of tools: the call lasts as long as the run, whose log is a resource. */
class CallWire implements Wire {
  readonly name: string
  readonly hides = {}
  readonly answersItself: boolean = true
  protected readonly client: Client
  readonly #starts = new Map<string, PartOf<'start'>>()
  readonly #inSessions = new Set<string>()

  constructor(name: string, client: Client) {
    this.name = `MCP ${name}`
    this.client = client
  }

  cannot(act: Act, { callsClient }: WireJob, _asked?: Asked): string | undefined {
    if (act === 'answer' || act === 'cancel') return 'only the call that has started a run is asked'
    return act === 'start' && callsClient ? NO_TOOLS : undefined
  }

  async start(job: WireJob): Promise<StartedRun> {
    const call = this.client.callTool(await this.toCall(job)) as Promise<McpResult>
    const rest = call.then(async (result) => {
      const { _meta: meta } = result
      const report = reportOfLog(await readRun(this.client, meta!.runId!))
      requireSame(result, report)
      return report
    })
    // Only its result has the id of the run.
    return { ...(await Promise.race([this.#find(job), rest.then(() => this.#find(job))])), rest }
  }

  async watch(run: WireRun): Promise<Partial<Report>> {
    await run.beyond(Infinity)
    return reportOfLog(await readRun(this.client, run.runId))
  }

  answer(_run: WireRun, _asked: Asked): Promise<void> {
    return Promise.reject(new Error('not over this wire'))
  }

  cancel(_run: WireRun): Promise<void> {
    return Promise.reject(new Error('not over this wire'))
  }

  close(): Promise<void> {
    return this.client.close()
  }

  protected async toCall({ kind, name, input, sessionId }: WireJob) {
    if (this.#inSessions.size === 0)
      for (const { name: tool, inputSchema } of (await this.client.listTools()).tools)
        if (inputSchema.properties?.['sessionId'] !== undefined) this.#inSessions.add(tool)
    const tool = kind === 'agent' ? name : `${kind}.${name}`
    const isInSession = sessionId !== undefined && this.#inSessions.has(tool)
    return { name: tool, arguments: { message: input, ...(isInSession && { sessionId }) } }
  }

  // The newest runs are resources; the one that is meant has the input.
  async #find({ input }: WireJob): Promise<{ runId: string; sessionId: string }> {
    for (;;) {
      for (const { name: runId } of (await this.client.listResources()).resources) {
        const start = this.#starts.get(runId) ?? (await readRun(this.client, runId))[0]
        if (start?.type !== 'start') continue
        if (start.input === input) return { runId, sessionId: start.sessionId }
        this.#starts.set(runId, start)
      }
    }
  }
}

/** Calls that are tasks at once: their ids are those of the runs. */
class TaskWire extends CallWire {
  override readonly answersItself = false
  readonly #url: string

  constructor(url: string, client: Client) {
    super('tasks', client)
    this.#url = url
  }

  override cannot(act: Act, { callsClient }: WireJob, asked?: Asked): string | undefined {
    if (act === 'start' && callsClient) return NO_TOOLS
    return act === 'answer' && asked?.kind === 'tool' ? 'forms are for people' : undefined
  }

  override async start(job: WireJob): Promise<StartedRun> {
    const { taskId, _meta: meta } = await requestTask(this.#url, 'tools/call', await this.toCall(job))
    const runId = taskId ?? meta!.runId!
    const [start] = await readRun(this.client, runId)
    return { runId, sessionId: (start as { sessionId: string }).sessionId }
  }

  override async watch(run: WireRun): Promise<Partial<Report>> {
    for (let seq = 0; ;) {
      const { status, result } = await requestTask(this.#url, 'tasks/get', { taskId: run.runId })
      if (status === 'working' || status === 'input_required') {
        seq = await run.beyond(seq)
        continue
      }
      const report = reportOfLog(await readRun(this.client, run.runId))
      if (status === 'completed') requireSame(result!, report)
      return status === 'cancelled' ? { ...report, status: 'canceled' } : report
    }
  }

  override async answer({ runId: taskId }: WireRun, { id, kind, accept, content }: Asked): Promise<void> {
    const form = kind === 'approval' ? { approved: accept } : content
    const answer =
      kind === 'question' && !accept ? { action: 'decline' } : { action: 'accept', content: form }
    await requestTask(this.#url, 'tasks/update', { taskId, inputResponses: { [id]: answer } })
  }

  override async cancel({ runId: taskId }: WireRun): Promise<void> {
    await requestTask(this.#url, 'tasks/cancel', { taskId })
  }

  override close(): Promise<void> {
    return Promise.resolve()
  }
}

/** The result of a call has the answer of its run, or the error. */
function requireSame({ isError, content = [], _meta: meta }: McpResult, report: Report): void {
  const { status, code, text, structured } = report
  const said = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  const expected = text !== '' || structured === null ? text : JSON.stringify(structured)
  const ended = [isError === true, meta?.code]
  const isSame =
    status === 'completed'
      ? !isError && said === expected
      : JSON.stringify(ended) === JSON.stringify([true, code ?? 'RUN_CANCELED'])
  if (!isSame)
    throw new Error(`the result is ${JSON.stringify([ended, said])}, the run ${JSON.stringify(report)}`)
}
