import type { AddressInfo } from 'node:net'
import { AgentCard, TaskState, type Part, type TaskStatus } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, type AgentExecutor } from '@a2a-js/sdk/server'
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import { A2AService, grpcService, UserBuilder as GrpcUserBuilder } from '@a2a-js/sdk/server/grpc'
import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation
} from '@grpc/grpc-js'
import express from 'express'
import { quick } from './quick.ts'

// The life of a task as its own example has it.
const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const about = { taskId, contextId, metadata: undefined }
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: statusOf(TaskState.TASK_STATE_SUBMITTED),
        artifacts: [],
        history: [userMessage],
        metadata: { agentName: quick.name }
      })
    )
    bus.publish(AgentEvent.statusUpdate({ ...about, status: statusOf(TaskState.TASK_STATE_WORKING) }))
    let text = ''
    for await (const part of quick.stream()) text += part.text
    bus.publish(
      AgentEvent.artifactUpdate({
        ...about,
        artifact: {
          artifactId: 'answer',
          name: '',
          description: '',
          parts: [toPart(text)],
          metadata: undefined,
          extensions: []
        },
        append: false,
        lastChunk: true
      })
    )
    bus.publish(AgentEvent.statusUpdate({ ...about, status: statusOf(TaskState.TASK_STATE_COMPLETED) }))
    bus.finished()
  },
  async cancelTask() {}
}

function statusOf(state: TaskState): TaskStatus {
  return { state, message: undefined, timestamp: new Date().toISOString() }
}

function toPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }
}

/** Serves A2A 1.0 and 0.3 by the official SDK; gives the address. */
export async function serveSdk(): Promise<string> {
  const requestHandler = createHandler()
  const app = express()
  app.use(
    '/a2a',
    jsonRpcHandler({
      requestHandler,
      userBuilder: UserBuilder.noAuthentication,
      legacyCompat: { enabled: true }
    })
  )
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    })
  })
}

/** Serves A2A 1.0 over gRPC by the official SDK; gives the host and port. */
export async function serveSdkGrpc(): Promise<string> {
  const server = new Server()
  const userBuilder = GrpcUserBuilder.noAuthentication
  server.addService(
    A2AService as unknown as ServiceDefinition,
    grpcService({ requestHandler: createHandler(), userBuilder }) as unknown as UntypedServiceImplementation
  )
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (err, port) =>
      err === null ? resolve(`127.0.0.1:${port}`) : reject(err)
    )
  })
}

function createHandler(): DefaultRequestHandler {
  const card = AgentCard.fromJSON({
    name: 'quick',
    description: 'Answers',
    version: '1.0.0',
    supportedInterfaces: [
      { url: 'http://127.0.0.1/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'http://127.0.0.1/a2a', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url: '127.0.0.1:1', protocolBinding: 'GRPC', protocolVersion: '1.0' }
    ],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'quick', name: 'quick', description: 'Answers', tags: ['agent'] }]
  })
  return new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
}
