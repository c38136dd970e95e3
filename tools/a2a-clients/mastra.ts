import type { StreamResponse, Task } from 'a2a-sdk-v1.0'
import type { AgentPlace, ForeignClient } from './client.ts'
import { converse, type RawMessage } from './conversation.ts'
import { fromStreamResponse, stateOf, toCurrentMessage } from './current-wire.ts'
import { fromLegacyEvent, resultOf, toLegacyMessage } from './legacy-wire.ts'

const common = {
  name: '@mastra/client-js',
  dependency: '@mastra/client-js',
  binding: 'JSON-RPC',
  lacks: {}
} as const

/** Mastra's client in both versions that it has. It finds agents on the paths of Mastra's own server only. */
export const mastra: ForeignClient[] = [
  {
    ...common,
    protocol: '0.3',
    async connect(place) {
      const agent = (await createClient(place)).getA2A(place.agent)
      return converse({
        discover: async () => (await agent.getAgentCard()).name,
        send: async (message) =>
          fromLegacyEvent(resultOf(await agent.sendMessage({ message: toLegacyMessage(message) }))),
        async *stream(message) {
          for await (const event of agent.sendMessageStream({ message: toLegacyMessage(message) }))
            yield fromLegacyEvent(event)
        },
        async cancel(id) {
          // Unlike its type says, it is the whole response.
          const response: unknown = await agent.cancelTask({ id })
          return resultOf(response as { result: { status: { state: string } } }).status.state
        }
      })
    }
  },
  {
    ...common,
    protocol: '1.0',
    async connect(place) {
      const agent = (await createClient(place)).getA2AV1(place.agent)
      const about = { tenant: '', metadata: undefined }
      const request = (message: RawMessage) => ({
        ...about,
        message: toCurrentMessage(message),
        configuration: undefined
      })
      return converse({
        discover: async () => (await agent.getAgentCard()).name,
        async send(message) {
          // The package has a copy of the official types.
          const response: unknown = await agent.sendMessage(request(message))
          return fromStreamResponse(response as StreamResponse)
        },
        async *stream(message) {
          for await (const event of agent.sendMessageStream(request(message))) yield fromStreamResponse(event)
        },
        async cancel(id) {
          const task: unknown = await agent.cancelTask({ ...about, id })
          return stateOf((task as Task).status?.state)
        }
      })
    }
  }
]

async function createClient({ origin: baseUrl }: AgentPlace) {
  process.env['MASTRA_TELEMETRY_DISABLED'] ??= '1'
  const { MastraClient } = await import('@mastra/client-js')
  return new MastraClient({ baseUrl, retries: 0 })
}
