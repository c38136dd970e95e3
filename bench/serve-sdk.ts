import type { AddressInfo } from 'node:net'
import { AgentCard, TaskState, type Part, type TaskStatus } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, type AgentExecutor } from '@a2a-js/sdk/server'
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import { createContext } from '@svc/registry'
import type { Agent } from '@svc/runtime'
import express from 'express'

// Its own example's life of a task, around the agent that all the others serve.
const executorOf = (agent: Agent): AgentExecutor => ({
  async execute({ taskId, contextId, userMessage }, bus) {
    const about = { taskId, contextId, metadata: undefined }
    bus.publish(
      AgentEvent.task({
        ...{ id: taskId, contextId, status: statusOf(TaskState.TASK_STATE_SUBMITTED) },
        ...{ artifacts: [], history: [userMessage], metadata: { agentName: agent.name } }
      })
    )
    bus.publish(AgentEvent.statusUpdate({ ...about, status: statusOf(TaskState.TASK_STATE_WORKING) }))
    const { text } = await agent.run(textOf(userMessage.parts), createContext({ sessionId: contextId }))
    bus.publish(
      AgentEvent.artifactUpdate({
        ...about,
        artifact: {
          ...{ artifactId: 'answer', name: '', description: '', parts: [toPart(text)] },
          ...{ metadata: undefined, extensions: [] }
        },
        append: false,
        lastChunk: true
      })
    )
    bus.publish(AgentEvent.statusUpdate({ ...about, status: statusOf(TaskState.TASK_STATE_COMPLETED) }))
    bus.finished()
  },
  async cancelTask() {}
})

function statusOf(state: TaskState): TaskStatus {
  return { state, message: undefined, timestamp: new Date().toISOString() }
}

function textOf([part]: Part[]): string {
  return part?.content?.$case === 'text' ? part.content.value : ''
}

function toPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }
}

/** Serves an agent over A2A 1.0 and 0.3 by the official SDK; gives the address. */
export async function serveSdk(agent: Agent): Promise<string> {
  const card = AgentCard.fromJSON({
    name: 'quick',
    description: 'Answers',
    version: '1.0.0',
    supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => ({
      ...{ url: 'http://127.0.0.1/a2a', protocolBinding: 'JSONRPC', protocolVersion }
    })),
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'quick', name: 'quick', description: 'Answers', tags: ['agent'] }]
  })
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executorOf(agent))
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
