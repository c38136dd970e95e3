import { randomUUID } from 'node:crypto'
import { Role, TaskState, type Artifact, type Part, type StreamResponse, type Task } from '@a2a-js/sdk'
import { ClientFactory, type Client } from '@a2a-js/sdk/client'
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc'
import a2a from '@svc/a2a'
import { grpcBinding } from '@svc/a2a/grpc'
import { approvalLine, questionLine } from './report-of-log.ts'
import type {
  Act,
  Asked,
  Report,
  ReportedCall,
  StartedRun,
  Wire,
  WireAdapter,
  WireJob,
  WireRun
} from './wire.ts'

/** A2A 1.0 with the official client, over each of its bindings. */
export const a2aWires: WireAdapter = {
  package: '@svc/a2a',
  async register(app, registry) {
    const grpc = grpcBinding({ port: 0 })
    await app.register(a2a, { basePath: '/a2a', agents: registry.list(), exposeToolResults: true, grpc })
  },
  connect: (origin) =>
    Promise.all(
      ['JSONRPC', 'HTTP+JSON', 'GRPC'].map(async (binding) => {
        const { options: defaults } = new ClientFactory()
        const transports = [...defaults.transports, new GrpcTransportFactory()]
        const options = { ...defaults, transports, preferredTransports: [binding] }
        return new A2aWire(binding, await new ClientFactory(options).createFromUrl(origin))
      })
    )
}

const ENDS: ReadonlyMap<TaskState | undefined, string> = new Map([
  [TaskState.TASK_STATE_COMPLETED, 'completed'],
  [TaskState.TASK_STATE_CANCELED, 'canceled'],
  [TaskState.TASK_STATE_FAILED, 'failed'],
  [TaskState.TASK_STATE_REJECTED, 'failed']
])
const NONE = { tenant: '', metadata: undefined }

class A2aWire implements Wire {
  readonly name: string
  readonly answersInTurn = true
  readonly refusal = /^UnsupportedOperationError: Not supported: [Tt]he (input is already answered|task is)/
  readonly hides = {
    args: 'artifacts have what a tool gave, not what it was given',
    order: 'artifacts come as the calls end',
    failedCalls: 'a call without a result has no artifact',
    asked: 'the status of a task has what it waits for at the moment',
    finishReason: 'tasks have states only',
    usage: 'the protocol has no field for tokens'
  }
  readonly #client: Client

  constructor(binding: string, client: Client) {
    this.name = `A2A over ${binding}`
    this.#client = client
  }

  cannot(act: Act, { callsClient }: WireJob): string | undefined {
    return act === 'start' && callsClient ? 'a message cannot bring tools' : undefined
  }

  async start({ name, input, sessionId = '' }: WireJob, variant: number): Promise<StartedRun> {
    const text = { $case: 'text', value: input } as const
    const message = { contextId: sessionId, metadata: { agentName: name } }
    if (variant < 0.3) {
      const task = await this.#send(text, message)
      return { runId: task.id, sessionId: task.contextId }
    }
    const events = this.#client.sendMessageStream(toRequest(text, message))
    const fold = new TaskFold()
    const { value } = await events.next()
    fold.add(value as StreamResponse)
    const rest = follow(events, fold).then(() => (fold.hasEnded ? fold.report() : undefined))
    return { runId: fold.task.id, sessionId: fold.task.contextId, rest }
  }

  async watch({ runId: id }: WireRun, isLate: boolean): Promise<Partial<Report>> {
    const fold = new TaskFold()
    if (!isLate) {
      try {
        await follow(this.#client.resubscribeTask({ tenant: '', id }), fold)
        return fold.report()
      } catch (err) {
        // The task has ended meanwhile.
        if (!/UnsupportedOperation/.test((err as Error).name)) throw err
      }
    }
    fold.take(await this.#client.getTask({ tenant: '', id, historyLength: undefined }))
    return fold.report()
  }

  async answer({ runId, sessionId }: WireRun, { id, kind, accept, content, args }: Asked): Promise<void> {
    const value =
      kind === 'approval'
        ? { approvalId: id, approved: accept, ...(accept && { args }) }
        : { inputId: id, ...(accept ? { action: 'accept', content } : { action: 'decline' }) }
    await this.#send({ $case: 'data', value }, { taskId: runId, contextId: sessionId })
  }

  async cancel({ runId: id }: WireRun): Promise<void> {
    await this.#client.cancelTask({ ...NONE, id }).catch((err: Error) => {
      if (!/TaskNotCancelable/.test(err.name)) throw err
    })
  }

  async #send(content: Part['content'], fields: object): Promise<Task> {
    const request = toRequest(content, fields, { returnImmediately: true })
    return (await this.#client.sendMessage(request)) as Task
  }
}

function toRequest(content: Part['content'], fields: object, configuration?: object) {
  const message = {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    parts: [{ content, metadata: undefined, filename: '', mediaType: '' }],
    contextId: '',
    taskId: '',
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...fields
  }
  const limits = configuration && { acceptedOutputModes: [], ...configuration }
  return { ...NONE, message, configuration: limits } as Parameters<Client['sendMessage']>[0]
}

async function follow(events: AsyncIterable<StreamResponse>, fold: TaskFold): Promise<void> {
  for await (const event of events) fold.add(event)
}

/** A task, kept up to date by its events. */
class TaskFold {
  #task: Task | undefined
  readonly #artifacts = new Map<string, Artifact>()
  readonly #asked = new Map<string, string>()

  get task(): Task {
    if (this.#task === undefined) throw new Error('the stream has no task')
    return this.#task
  }

  get hasEnded(): boolean {
    return ENDS.has(this.#task?.status?.state)
  }

  add({ payload }: StreamResponse): void {
    if (payload?.$case === 'task') this.take(payload.value)
    if (payload?.$case === 'statusUpdate') {
      this.task.status = payload.value.status
      this.#readAsked()
    }
    if (payload?.$case !== 'artifactUpdate') return
    const { artifact, append } = payload.value
    const before = append ? this.#artifacts.get(artifact!.artifactId) : undefined
    this.#artifacts.set(artifact!.artifactId, {
      ...artifact!,
      parts: [...(before?.parts ?? []), ...artifact!.parts]
    })
  }

  take(task: Task): void {
    this.#task = task
    this.#artifacts.clear()
    for (const artifact of task.artifacts) this.#artifacts.set(artifact.artifactId, artifact)
    this.#readAsked()
  }

  report(): Partial<Report> {
    const { status } = this.task
    const state = ENDS.get(status?.state)
    if (state === undefined) throw new Error(`the task is left in the state ${status?.state}`)
    const answer = this.#artifacts.get('answer')?.parts ?? []
    const data = answer.find(({ content }) => content?.$case === 'data')
    return {
      status: state,
      code: status?.message?.metadata?.['code'] as string | undefined,
      text: answer.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join(''),
      structured: state === 'failed' ? undefined : (data?.content?.value ?? null),
      calls: this.#calls(),
      asked: [...this.#asked.values()]
    }
  }

  #calls(): ReportedCall[] {
    return [...this.#artifacts.values()]
      .filter(({ artifactId, metadata }) => artifactId.startsWith('tool-') && metadata?.['void'] !== true)
      .map(({ name, parts: [part] }) => ({ tool: name, outcome: { result: part?.content?.value } }))
  }

  #readAsked(): void {
    for (const { content } of this.task.status?.message?.parts ?? []) {
      if (content?.$case !== 'data') continue
      const { approvalId, inputId, kind, message, toolName } = content.value as Record<string, string>
      if (approvalId !== undefined) this.#asked.set(approvalId, approvalLine(approvalId, toolName!))
      if (inputId !== undefined && kind !== 'tool') this.#asked.set(inputId, questionLine(kind!, message))
    }
  }
}
