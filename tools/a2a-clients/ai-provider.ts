import type { LanguageModel } from 'ai'
import { urlOf, type Conversation, type ForeignClient, type ReceivedFile, type Reply } from './client.ts'

/** A model of the AI SDK that is an A2A agent. It finds a conversation by an id that its user chooses. */
export const aiProvider: ForeignClient = {
  name: 'a2a-ai-provider',
  dependency: 'a2a-ai-provider',
  protocol: '0.3',
  binding: 'JSON-RPC',
  lacks: {
    revision: 'it joins all chunks, also those that replace others',
    cancel: 'the abort signal of a call does not reach the request',
    'receive a file': 'it accepts text/plain only, and leaves files with a URL out of streams'
  },
  async connect(place): Promise<Conversation> {
    const { generateText, streamText } = await import('ai')
    const { a2a } = await import('a2a-ai-provider')
    const cardUrl = `${urlOf(place)}.well-known/agent-card.json`
    const model = a2a(cardUrl) as unknown as LanguageModel
    const common = (contextId: string) => ({
      model,
      maxRetries: 0,
      providerOptions: { a2a: { contextId } }
    })

    async function generate(
      content: string | object[],
      contextId: string = crypto.randomUUID()
    ): Promise<Reply> {
      const messages = [{ role: 'user', content }] as never
      const { text, files } = await generateText({ ...common(contextId), messages })
      return { text, files: files.map(toFile), contextId }
    }

    return {
      // The model fetches it for each call, and keeps nothing of it.
      async discover() {
        const { A2AClient } = await import('@a2a-js/sdk/client')
        const client = await A2AClient.fromCardUrl(cardUrl)
        return (await client.getAgentCard()).name
      },
      send: (text) => generate(text),
      async stream(text) {
        const contextId = crypto.randomUUID()
        const streamed = streamText({ ...common(contextId), prompt: text })
        const chunks: string[] = []
        for await (const chunk of streamed.textStream) chunks.push(chunk)
        return { chunks, text: await streamed.text, files: (await streamed.files).map(toFile), contextId }
      },
      answer: ({ contextId }, text) => generate(text, contextId),
      sendFile: ({ name, mediaType, content }) =>
        generate([{ type: 'file', filename: name, mediaType, data: Buffer.from(content) }])
    }
  }
}

function toFile({ mediaType, base64: content }: { mediaType: string; base64: string }): ReceivedFile {
  return { mediaType, content }
}
