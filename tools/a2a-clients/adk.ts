import type { Event } from '@google/adk'
import {
  urlOf,
  type Conversation,
  type ForeignClient,
  type ReceivedFile,
  type StreamedReply
} from './client.ts'

type Part = NonNullable<NonNullable<Event['content']>['parts']>[number]

/** An agent of the Agent Development Kit that is an A2A agent, in a session of its runner. */
export const adk: ForeignClient = {
  name: '@google/adk',
  dependency: '@google/adk',
  protocol: '0.3',
  binding: 'JSON-RPC',
  lacks: { cancel: 'an aborted run does not cancel the task' },
  async connect(place): Promise<Conversation> {
    const { InMemoryRunner, RemoteA2AAgent, isFinalResponse } = await import('@google/adk')
    const agent = new RemoteA2AAgent({ name: 'remote', agentCard: urlOf(place) })
    const runner = new InMemoryRunner({ agent })
    const userId = 'user'

    async function say(sessionId: string, ...parts: Part[]): Promise<StreamedReply> {
      const chunks: string[] = []
      const files: ReceivedFile[] = []
      let text = ''
      const newMessage = { role: 'user', parts }
      for await (const event of runner.runAsync({ userId, sessionId, newMessage })) {
        if (event.errorMessage !== undefined) throw new Error(event.errorMessage)
        const said = (event.content?.parts ?? []).map((part) => part.text ?? '').join('')
        if (!isFinalResponse(event)) {
          if (said !== '') chunks.push(said)
          continue
        }
        text += said
        files.push(...filesOf(event.content?.parts ?? []))
      }
      return { chunks, text, files, contextId: sessionId }
    }

    async function begin(...parts: Part[]): Promise<StreamedReply> {
      const { id } = await runner.sessionService.createSession({ appName: runner.appName, userId })
      return say(id, ...parts)
    }

    return {
      async discover() {
        await begin({ text: 'hello' })
        return (agent as unknown as { card: { name: string } }).card.name
      },
      send: (text) => begin({ text }),
      stream: (text) => begin({ text }),
      answer: ({ contextId }, text) => say(contextId!, { text }),
      sendFile: ({ mediaType: mimeType, content }) =>
        begin({ inlineData: { mimeType, data: Buffer.from(content).toString('base64') } })
    }
  }
}

function filesOf(parts: readonly Part[]): ReceivedFile[] {
  return parts.flatMap(({ fileData, inlineData }) => {
    const { mimeType: mediaType = '' } = fileData ?? inlineData ?? {}
    if (fileData?.fileUri !== undefined) return { mediaType, url: fileData.fileUri }
    return inlineData?.data === undefined ? [] : { mediaType, content: inlineData.data }
  })
}
