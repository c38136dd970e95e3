import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { NumberedPart } from '@svc/registry'
import { createParser } from 'eventsource-parser'

/** One message of an event stream, as a client that follows the standard sees it. */
export interface Message {
  id: string
  part: NumberedPart
}

/** The messages of an event stream that came to an end or was broken off: those that were complete. */
export function parseMessages(text: string): Message[] {
  const messages: Message[] = []
  const parser = createParser({
    onEvent: ({ id = '', data }) => messages.push({ id, part: JSON.parse(data) as NumberedPart })
  })
  parser.feed(text)
  return messages
}

/** The parts of a whole response. */
export async function readParts(response: Response): Promise<NumberedPart[]> {
  return parseMessages(await response.text()).map(({ part }) => part)
}

/** Reads so many bytes of a response, then goes away. */
export async function readBytes(response: Response, amount: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= amount) break
  }
  return Buffer.concat(chunks).subarray(0, amount)
}

/** Opens a socket and sends a request as it is. */
export async function sendRaw(origin: string, request: string | Buffer): Promise<Socket> {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(request)
  return socket
}

/** Everything that a socket gets until its other side closes it. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
