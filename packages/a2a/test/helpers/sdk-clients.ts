import { ClientFactory as ClientFactoryV10 } from '@a2a-js/sdk/client'
import { A2AClient as ClientV02 } from 'a2a-sdk-v0.2/client'
import { ClientFactory as ClientFactoryV03 } from 'a2a-sdk-v0.3/client'
import type { MessagePart } from '../../src/model/message.ts'

/** An official client of one version, on one binding. */
export interface SdkClient {
  readonly name: string
  readonly version: '0.2' | '0.3' | '1.0'
  /** Sends a user's message; rejects if the service refuses it. */
  send(parts: readonly MessagePart[], fields?: object): Promise<{ id: string }>
}

/** The official clients of every version, on all their bindings. */
export async function connectSdkClients(origin: string): Promise<SdkClient[]> {
  const bindings = ['JSONRPC', 'HTTP+JSON']
  return [
    connectV02(origin),
    ...(await Promise.all(bindings.map((binding) => connectV03(origin, binding)))),
    ...(await Promise.all(bindings.map((binding) => connectV10(origin, binding))))
  ]
}

function connectV02(origin: string): SdkClient {
  const client = new ClientV02(origin)
  return {
    name: '0.2 over JSONRPC',
    version: '0.2',
    async send(parts, fields) {
      const reply = await client.sendMessage({ message: toLegacyMessage(parts, fields) } as never)
      if ('error' in reply) throw Object.assign(new Error('refused'), reply.error)
      return reply.result as { id: string }
    }
  }
}

async function connectV03(origin: string, binding: string): Promise<SdkClient> {
  const factory = new ClientFactoryV03({ ...new ClientFactoryV03().options, preferredTransports: [binding] })
  const client = await factory.createFromUrl(origin)
  return {
    name: `0.3 over ${binding}`,
    version: '0.3',
    send: async (parts, fields) =>
      (await client.sendMessage({ message: toLegacyMessage(parts, fields) } as never)) as { id: string }
  }
}

async function connectV10(origin: string, binding: string): Promise<SdkClient> {
  const factory = new ClientFactoryV10({ ...new ClientFactoryV10().options, preferredTransports: [binding] })
  const client = await factory.createFromUrl(origin)
  return {
    name: `1.0 over ${binding}`,
    version: '1.0',
    async send(parts, fields) {
      const message = {
        messageId: crypto.randomUUID(),
        role: 1,
        parts: parts.map(toPartV10),
        contextId: '',
        taskId: '',
        metadata: undefined,
        extensions: [],
        referenceTaskIds: [],
        ...fields
      }
      return (await client.sendMessage({ tenant: '', message, metadata: undefined } as never)) as {
        id: string
      }
    }
  }
}

function toLegacyMessage(parts: readonly MessagePart[], fields?: object): object {
  return {
    kind: 'message',
    messageId: crypto.randomUUID(),
    role: 'user',
    parts: parts.map(toLegacyPart),
    ...fields
  }
}

function toLegacyPart(part: MessagePart): object {
  const { metadata, filename: name, mediaType: mimeType } = part
  const about = metadata === undefined ? {} : { metadata }
  if ('text' in part) return { kind: 'text', text: part.text, ...about }
  if ('data' in part) return { kind: 'data', data: part.data, ...about }
  const file = 'raw' in part ? { bytes: part.raw } : { uri: part.url }
  return { kind: 'file', file: { ...file, name, mimeType }, ...about }
}

function toPartV10(part: MessagePart): object {
  const { metadata, filename = '', mediaType = '' } = part
  const [$case, value] =
    'text' in part
      ? ['text', part.text]
      : 'data' in part
        ? ['data', part.data]
        : 'raw' in part
          ? ['raw', Buffer.from(part.raw, 'base64')]
          : ['url', part.url]
  return { content: { $case, value }, metadata, filename, mediaType }
}
