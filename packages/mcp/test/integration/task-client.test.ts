import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
  type RawClientDispatch,
  type SerializedTaskReference,
  type TaskEnabledSession,
  type WithTasksOptions
} from '@modelcontextprotocol/ext-tasks/client'
import type { RunContext } from '@svc/registry'
import t, { type Test } from 'tap'
import { connect, mcpApp } from '../helpers/mcp-app.ts'
import { sendModern } from '../helpers/send-modern.ts'

const TASKS = 'io.modelcontextprotocol/tasks'

/** Sends requests of the extension, which the official client knows only with this package, as its host does. */
const dispatchTo =
  (url: string): RawClientDispatch =>
  async (request) => {
    const { method, params } = request as { method: string; params: Record<string, unknown> }
    const { result, error } = await sendModern(url, method, params, {
      capabilities: { elicitation: { form: {} }, extensions: { [TASKS]: {} } }
    })
    return error === undefined
      ? { kind: 'result', result: result as never }
      : { kind: 'error', error: error as never }
  }

/** The official client of the extension, unmodified. */
async function openSession(
  t: Test,
  url: string,
  options: Pick<WithTasksOptions, 'onInputRequest'> = {}
): Promise<TaskEnabledSession> {
  const session = createTaskSessionFromClient(await connect(t, url), {
    endpointId: 'agents',
    rawDispatch: dispatchTo(url),
    v2RequestFraming: {
      protocolVersion: '2026-07-28',
      clientInfo: { name: 'test', version: '1' },
      clientCapabilities: { elicitation: { form: {} } }
    },
    ...options
  })
  t.teardown(() => session.close())
  return session
}

/** An agent that ends when it is allowed to, or asks first. */
function createWorker() {
  const gate = Promise.withResolvers<void>()
  const worker = {
    kind: 'agent' as const,
    name: 'worker',
    run: async (input: unknown, context: RunContext) => {
      if (input === 'fail') throw new Error('broken')
      if (input === 'ask') return `It is ${String((await context.ask({ message: 'Which?' })).content)}`
      await Promise.race([
        gate.promise,
        new Promise((_resolve, reject) =>
          context.signal.addEventListener('abort', () => reject(context.signal.reason as Error))
        )
      ])
      return 'Done'
    }
  }
  return { worker, finish: gate.resolve }
}

const options = { taskAfter: 0, pollInterval: 20 }

void t.test('the official client of tasks follows a task, and another one finds it again', async (t) => {
  const { worker, finish } = createWorker()
  const { url, runs } = await mcpApp(t, { runnables: [worker], options })
  const session = await openSession(t, url)
  const execution = await session.callTool('worker', { message: 'work' })
  if (execution.kind !== 'task') throw new Error('the call is no task')
  t.equal((await runs.find(execution.handle.taskId))?.status, 'working')
  let reference: SerializedTaskReference | undefined
  await execution.handoff((serialized) => {
    reference = serialized
  })
  const other = await openSession(t, url)
  const resumed = await other.resumeTask(reference!)
  const states: string[] = []
  const settled = resumed.settle({
    onEvent(event) {
      if (event.type === 'task') states.push(event.task.status)
      finish()
    }
  })
  const { outcome } = await settled
  t.match(resultFromTaskOutcome(outcome), { content: [{ type: 'text', text: 'Done' }] })
  t.equal(states[0], 'working')
})

void t.test('a question reaches the user of the client, and the answer the run', async (t) => {
  const { worker } = createWorker()
  const { url } = await mcpApp(t, { runnables: [worker], options })
  const messages: unknown[] = []
  const session = await openSession(t, url, {
    async onInputRequest(request) {
      messages.push(request.params?.['message'])
      return { action: 'accept', content: { answer: 'blue' } } as never
    }
  })
  const execution = await session.callTool('worker', { message: 'ask' })
  const { outcome } = await execution.settle()
  t.match(resultFromTaskOutcome(outcome), { content: [{ text: 'It is blue' }] })
  t.strictSame(messages, ['Which?'])
})

void t.test('a task that is canceled, one that fails, and one that nobody has', async (t) => {
  const { worker } = createWorker()
  const { url, runs } = await mcpApp(t, { runnables: [worker], options })
  const session = await openSession(t, url)
  const canceled = await session.callTool('worker', { message: 'work' })
  await canceled.cancel()
  t.equal((await runs.find(canceled.handle!.taskId))?.status, 'canceled')

  const failed = await session.callTool('worker', { message: 'fail' })
  const { outcome } = await failed.settle()
  t.match(resultFromTaskOutcome(outcome), { isError: true })
  await t.rejects(session.task('nobody' as never).snapshot())
})
