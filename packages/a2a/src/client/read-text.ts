import { A2A_ERR_BAD_ANSWER } from '../errors.ts'

/** The text of an answer of at most so many bytes. @throws A2A_ERR_BAD_ANSWER, and what the chunks throw */
export async function readText(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new A2A_ERR_BAD_ANSWER(`it is too large, over ${maxBytes} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
