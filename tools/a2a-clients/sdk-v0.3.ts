import { urlOf, type ForeignClient } from './client.ts'
import { converse, type RawMessage } from './conversation.ts'
import { fromLegacyEvent, toLegacyMessage } from './legacy-wire.ts'

const WITHOUT_APPEND = { revision: 'it leaves out `append`' }

/** The official client of 0.3, on each of its bindings. */
export const sdkV03: ForeignClient[] = [
  over('JSON-RPC', {}),
  over('HTTP+JSON', WITHOUT_APPEND),
  over('gRPC', {
    ...WITHOUT_APPEND,
    discovery:
      'one port serves all agents, so it reads the card of the service, and names the agent in `metadata.agentName`'
  })
]

function over(binding: ForeignClient['binding'], lacks: ForeignClient['lacks']): ForeignClient {
  return {
    name: '@a2a-js/sdk',
    dependency: '@a2a-js/sdk',
    protocol: '0.3',
    binding,
    lacks,
    async connect(place) {
      const { ClientFactory } = await import('@a2a-js/sdk/client')
      const factory = new ClientFactory({ transports: [await createTransport(binding)] })
      const isGrpc = binding === 'gRPC'
      const client = await factory.createFromUrl(isGrpc ? place.origin : urlOf(place))
      const request = (message: RawMessage) => ({
        message: {
          ...toLegacyMessage(message),
          ...(isGrpc && { metadata: { agentName: place.agent } })
        }
      })
      return converse({
        discover: async () => (await client.getAgentCard()).name,
        send: async (message) => fromLegacyEvent(await client.sendMessage(request(message))),
        async *stream(message) {
          for await (const event of client.sendMessageStream(request(message))) yield fromLegacyEvent(event)
        },
        cancel: async (id) => (await client.cancelTask({ id })).status.state
      })
    }
  }
}

// The factory has this one only, so that it cannot choose another.
async function createTransport(binding: ForeignClient['binding']) {
  if (binding === 'gRPC') return new (await import('@a2a-js/sdk/client/grpc')).GrpcTransportFactory()
  const { JsonRpcTransportFactory, RestTransportFactory } = await import('@a2a-js/sdk/client')
  return binding === 'JSON-RPC' ? new JsonRpcTransportFactory() : new RestTransportFactory()
}
