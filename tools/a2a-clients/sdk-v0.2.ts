import { urlOf, type ForeignClient } from './client.ts'
import { converse } from './conversation.ts'
import { fromLegacyEvent, resultOf, toLegacyMessage } from './legacy-wire.ts'

/** The official client of 0.2. */
export const sdkV02: ForeignClient = {
  name: '@a2a-js/sdk',
  dependency: 'a2a-sdk-v0.2',
  protocol: '0.2',
  binding: 'JSON-RPC',
  lacks: {},
  async connect(place) {
    const { A2AClient } = await import('a2a-sdk-v0.2/client')
    const client = new A2AClient(urlOf(place))
    return converse({
      discover: async () => (await client.getAgentCard()).name,
      async send(message) {
        const configuration = { blocking: true, acceptedOutputModes: ['*/*'] }
        return fromLegacyEvent(
          resultOf(await client.sendMessage({ message: toLegacyMessage(message), configuration }))
        )
      },
      async *stream(message) {
        for await (const event of client.sendMessageStream({ message: toLegacyMessage(message) }))
          yield fromLegacyEvent(event)
      },
      cancel: async (id) => resultOf(await client.cancelTask({ id })).status.state
    })
  }
}
