import { A2A_ERR_BAD_ANSWER } from '../errors.ts'

/** Characters that one answer, or one event of a stream, may have. */
export const MAX_ANSWER = 16_777_216

/** The text of an answer. @throws A2A_ERR_BAD_ANSWER, and what the network throws */
export async function readText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > MAX_ANSWER) throw new A2A_ERR_BAD_ANSWER('it is too large')
  }
  return text + decoder.decode()
}
