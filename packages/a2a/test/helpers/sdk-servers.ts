import { AgentCard, TaskState, type Part } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, type AgentExecutor } from '@a2a-js/sdk/server'
import { jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import {
  DefaultRequestHandler as DefaultRequestHandlerV03,
  InMemoryTaskStore as InMemoryTaskStoreV03,
  type AgentExecutor as AgentExecutorV03
} from 'a2a-sdk-v0.3/server'
import {
  jsonRpcHandler as jsonRpcHandlerV03,
  restHandler as restHandlerV03,
  UserBuilder as UserBuilderV03
} from 'a2a-sdk-v0.3/server/express'
import express, { type Express } from 'express'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { ProtocolVersion } from '../../src/wire/versions.ts'

/** The bytes of the file that the agents make. */
export const FILE = Buffer.from([0, 1, 2, 0xfe, 0xff])

type Test = { teardown(fn: () => unknown): unknown }
type Step =
  | { state: 'working' | 'input-required' | 'completed' | 'canceled'; text?: string }
  | { chunk: string; append: boolean }
  | { file: Buffer }

/**
 * What the agents of both servers do: `ask` asks which one, `wait` waits to be canceled, `file` makes a file, anything else is
 * repeated in two chunks.
 */
async function* act(text: string, isFollowUp: boolean, canceled: Promise<unknown>): AsyncGenerator<Step> {
  yield { state: 'working' }
  if (isFollowUp) yield { state: 'completed', text: `You chose ${text}.` }
  else if (text === 'ask') yield { state: 'input-required', text: 'Which one?' }
  else if (text === 'wait') {
    yield { chunk: 'Waiting', append: false }
    await canceled
    yield { state: 'canceled' }
  } else {
    yield { chunk: 'You said ', append: false }
    yield { chunk: text, append: true }
    if (text === 'file') yield { file: FILE }
    yield { state: 'completed' }
  }
}

/** Serves the agent by the official SDK of a version, over both bindings; its card prefers one. `forget` loses all tasks. */
export async function serveSdk(t: Test, version: ProtocolVersion, binding: string) {
  const app = express()
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const tasks = createTasks()
  const serve = version === '1.0' ? serveV10 : serveV03
  serve(app, url, binding, tasks)
  return { url, canceled: tasks.canceled, forget: tasks.forget }
}

const ABOUT = {
  name: 'sdk',
  description: 'Answers',
  version: '1.0.0',
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'sdk', name: 'sdk', description: 'Answers', tags: ['agent'] }]
}

const pathOf = (binding: string) => (binding === 'JSONRPC' ? '/rpc' : '/rest')
const inOrder = (first: string) => [first, first === 'JSONRPC' ? 'HTTP+JSON' : 'JSONRPC']

type Tasks = ReturnType<typeof createTasks>

/** The tasks of a service: which were canceled, and which it has lost. */
function createTasks() {
  const waits = new Map<string, () => void>()
  const canceled: string[] = []
  const lost = new Set<string>()
  return {
    canceled,
    /** Resolves when the task is canceled. */
    begin: (taskId: string) => new Promise<void>((resolve) => waits.set(taskId, resolve)),
    cancel(taskId: string) {
      canceled.push(taskId)
      waits.get(taskId)?.()
    },
    forget() {
      for (const taskId of waits.keys()) lost.add(taskId)
    },
    /** A store that has no lost tasks. */
    losing<Store extends { load(taskId: string, ...more: never[]): Promise<unknown> }>(store: Store): Store {
      const load = store.load.bind(store) as (taskId: string, ...more: unknown[]) => Promise<unknown>
      const without = async (taskId: string, ...more: unknown[]) =>
        lost.has(taskId) ? undefined : load(taskId, ...more)
      return Object.assign(store, { load: without })
    }
  }
}

function serveV10(app: Express, url: string, binding: string, tasks: Tasks): void {
  const toPart = (content: Part['content'], about: object = {}): Part => ({
    content,
    metadata: undefined,
    filename: '',
    mediaType: '',
    ...about
  })
  const say = (value: string) => toPart({ $case: 'text', value })
  const states = {
    working: TaskState.TASK_STATE_WORKING,
    'input-required': TaskState.TASK_STATE_INPUT_REQUIRED,
    completed: TaskState.TASK_STATE_COMPLETED,
    canceled: TaskState.TASK_STATE_CANCELED
  }
  const executor: AgentExecutor = {
    async execute({ taskId, contextId, userMessage, task }, bus) {
      const ids = { taskId, contextId, metadata: undefined }
      const statusOf = (state: TaskState, text?: string) => ({
        state,
        message:
          text === undefined
            ? undefined
            : {
                messageId: crypto.randomUUID(),
                role: 2,
                parts: [say(text)],
                taskId,
                contextId,
                metadata: undefined,
                extensions: [],
                referenceTaskIds: []
              },
        timestamp: new Date().toISOString()
      })
      // Of this SDK every execution has to begin with the task.
      bus.publish(
        AgentEvent.task(
          task ?? {
            id: taskId,
            contextId,
            status: statusOf(TaskState.TASK_STATE_SUBMITTED),
            artifacts: [],
            history: [userMessage],
            metadata: undefined
          }
        )
      )
      const [content] = userMessage.parts.map((part) => part.content)
      const text = content?.$case === 'text' ? content.value : ''
      for await (const step of act(text, task !== undefined, tasks.begin(taskId))) {
        if ('state' in step) {
          bus.publish(AgentEvent.statusUpdate({ ...ids, status: statusOf(states[step.state], step.text) }))
          continue
        }
        const isChunk = 'chunk' in step
        const part = isChunk
          ? say(step.chunk)
          : toPart({ $case: 'raw', value: step.file }, { filename: 'a.bin', mediaType: 'a/b' })
        const artifact = {
          artifactId: isChunk ? 'answer' : 'file',
          name: '',
          description: '',
          parts: [part],
          metadata: undefined,
          extensions: []
        }
        bus.publish(
          AgentEvent.artifactUpdate({ ...ids, artifact, append: isChunk && step.append, lastChunk: false })
        )
      }
      bus.finished()
    },
    async cancelTask(taskId) {
      tasks.cancel(taskId)
    }
  }
  const card = AgentCard.fromJSON({
    ...ABOUT,
    supportedInterfaces: inOrder(binding).map((protocolBinding) => ({
      url: url + pathOf(protocolBinding),
      protocolBinding,
      protocolVersion: '1.0'
    })),
    capabilities: { streaming: true }
  })
  const requestHandler = new DefaultRequestHandler(card, tasks.losing(new InMemoryTaskStore()), executor)
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication }
  app.get('/.well-known/agent-card.json', (_request, response) => void response.json(AgentCard.toJSON(card)))
  app.use('/rpc', jsonRpcHandler(options))
  app.use('/rest', restHandler(options))
}

function serveV03(app: Express, url: string, binding: string, tasks: Tasks): void {
  const executor: AgentExecutorV03 = {
    async execute({ taskId, contextId, userMessage, task }, bus) {
      const ids = { taskId, contextId }
      if (task === undefined)
        bus.publish({
          kind: 'task',
          id: taskId,
          contextId,
          history: [userMessage],
          status: { state: 'submitted' }
        })
      const [part] = userMessage.parts
      const text = part?.kind === 'text' ? part.text : ''
      for await (const step of act(text, task !== undefined, tasks.begin(taskId))) {
        if ('state' in step) {
          const { state, text: said } = step
          const messageId = crypto.randomUUID()
          const parts = [{ kind: 'text' as const, text: said ?? '' }]
          const message = { ...ids, kind: 'message' as const, messageId, role: 'agent' as const, parts }
          bus.publish({
            ...ids,
            kind: 'status-update',
            final: state !== 'working',
            status: { state, ...(said !== undefined && { message }) }
          })
          continue
        }
        const isChunk = 'chunk' in step
        bus.publish({
          ...ids,
          kind: 'artifact-update',
          append: isChunk && step.append,
          artifact: isChunk
            ? { artifactId: 'answer', parts: [{ kind: 'text', text: step.chunk }] }
            : {
                artifactId: 'file',
                parts: [
                  {
                    kind: 'file',
                    file: { bytes: step.file.toString('base64'), name: 'a.bin', mimeType: 'a/b' }
                  }
                ]
              }
        })
      }
      bus.finished()
    },
    async cancelTask(taskId) {
      tasks.cancel(taskId)
    }
  }
  const card = {
    ...ABOUT,
    protocolVersion: '0.3.0',
    url: url + pathOf(binding),
    preferredTransport: binding,
    additionalInterfaces: inOrder(binding).map((transport) => ({ url: url + pathOf(transport), transport })),
    capabilities: { streaming: true }
  }
  const requestHandler = new DefaultRequestHandlerV03(
    card,
    tasks.losing(new InMemoryTaskStoreV03()),
    executor
  )
  const options = { requestHandler, userBuilder: UserBuilderV03.noAuthentication }
  app.get('/.well-known/agent-card.json', (_request, response) => void response.json(card))
  app.use('/rpc', jsonRpcHandlerV03(options))
  app.use('/rest', restHandlerV03(options))
}
