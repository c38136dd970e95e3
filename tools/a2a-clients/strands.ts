import { urlOf, type Conversation, type ForeignClient, type StreamedReply } from './client.ts'
import { Answer } from './conversation.ts'
import { fromLegacyEvent } from './legacy-wire.ts'

/** An agent of Strands that is an A2A agent. */
export const strands: ForeignClient = {
  name: '@strands-agents/sdk',
  dependency: '@strands-agents/sdk',
  protocol: '0.3',
  binding: 'JSON-RPC',
  lacks: {
    question: 'each message begins a conversation; the question is an event of a stream only',
    cancel: 'it has no method for it',
    'send a file': 'it sends texts only'
  },
  async connect(place): Promise<Conversation> {
    const { A2AAgent } = await import('@strands-agents/sdk/a2a')
    const agent = new A2AAgent({ url: urlOf(place) })

    async function stream(text: string): Promise<StreamedReply> {
      // Files are in the events only.
      const all = new Answer()
      const events = agent.stream(text)
      for (;;) {
        const { value, done } = await events.next()
        if (done) return { text: value.toString(), chunks: all.chunks, files: all.files }
        if (value.type === 'a2aStreamUpdateEvent') all.add(fromLegacyEvent(value.event))
      }
    }

    return {
      async discover() {
        await agent.invoke('hello')
        return agent.name ?? ''
      },
      async send(text) {
        return { text: (await agent.invoke(text)).toString(), files: [] }
      },
      stream
    }
  }
}
