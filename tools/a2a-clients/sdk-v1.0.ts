import { tenantUrlOf, urlOf, type ForeignClient } from './client.ts'
import { converse, type RawMessage } from './conversation.ts'
import { fromMessage, fromStreamResponse, fromTask, stateOf, toCurrentMessage } from './current-wire.ts'

/** The official client of 1.0, on each of its bindings. */
export const sdkV10: ForeignClient[] = [over('JSON-RPC'), over('HTTP+JSON'), over('gRPC')]

function over(binding: ForeignClient['binding']): ForeignClient {
  return {
    name: '@a2a-js/sdk',
    dependency: 'a2a-sdk-v1.0',
    protocol: '1.0',
    binding,
    lacks: {},
    async connect(place) {
      const { ClientFactory } = await import('a2a-sdk-v1.0/client')
      const factory = new ClientFactory({ transports: [await createTransport(binding)] })
      // One port serves all agents over gRPC, so that requests name theirs as the tenant.
      const client = await factory.createFromUrl(binding === 'gRPC' ? tenantUrlOf(place) : urlOf(place))
      const common = { tenant: '', metadata: undefined }
      const request = (message: RawMessage) => ({
        ...common,
        message: toCurrentMessage(message),
        configuration: undefined
      })
      return converse({
        discover: async () => (await client.getAgentCard()).name,
        async send(message) {
          const answer = await client.sendMessage(request(message))
          return 'status' in answer ? fromTask(answer) : fromMessage(answer)
        },
        async *stream(message) {
          for await (const event of client.sendMessageStream(request(message)))
            yield fromStreamResponse(event)
        },
        cancel: async (id) => stateOf((await client.cancelTask({ ...common, id })).status?.state)
      })
    }
  }
}

// The factory has this one only, so that it cannot choose another.
async function createTransport(binding: ForeignClient['binding']) {
  if (binding === 'gRPC') return new (await import('a2a-sdk-v1.0/client/grpc')).GrpcTransportFactory()
  const { JsonRpcTransportFactory, RestTransportFactory } = await import('a2a-sdk-v1.0/client')
  return binding === 'JSON-RPC' ? new JsonRpcTransportFactory() : new RestTransportFactory()
}
