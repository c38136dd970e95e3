import { isUtf8 } from 'node:buffer'
import { HTTP_ERR_BAD_MULTIPART, HTTP_ERR_BODY_TOO_LARGE } from '../errors.ts'

/**
 * Reads a text field of at most `maxSize` bytes.
 * @throws HTTP_ERR_BODY_TOO_LARGE, HTTP_ERR_BAD_MULTIPART if it is not UTF-8
 */
export async function readText(
  content: AsyncIterable<Buffer>,
  maxSize: number
): Promise<{ text: string; size: number }> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of content) {
    size += chunk.length
    if (size > maxSize) throw new HTTP_ERR_BODY_TOO_LARGE()
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  if (!isUtf8(bytes)) throw new HTTP_ERR_BAD_MULTIPART('a field is not UTF-8')
  return { text: bytes.toString(), size }
}
