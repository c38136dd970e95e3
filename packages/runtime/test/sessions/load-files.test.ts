import type { ContentPart, FileContentPart } from '@svc/registry'
import t from 'tap'
import { loadFiles } from '../../src/sessions/turn.ts'

const text: ContentPart = { type: 'text', text: 'look' }
const place: ContentPart = { type: 'file', mimeType: 'a/b', url: 'https://example.org/a' }
const fileOf = (...chunks: string[]): FileContentPart => ({
  type: 'image',
  mimeType: 'image/png',
  filename: 'a.png',
  file: {
    size: chunks.join('').length,
    async *stream() {
      for (const chunk of chunks) yield Buffer.from(chunk)
    }
  }
})

t.test('a message without files is unchanged', async (t) => {
  const parts = [text, place]
  t.equal(loadFiles('look'), 'look')
  t.equal(loadFiles(parts), parts)
})

t.test('a file becomes data in place', async (t) => {
  const file = fileOf('a', 'bcd', 'e')
  t.strictSame(await loadFiles([text, file, place]), [
    text,
    {
      type: 'image',
      mimeType: 'image/png',
      filename: 'a.png',
      data: Buffer.from('abcde').toString('base64')
    },
    place
  ])
  t.hasProp(file, 'file')
})

t.test('a file that cannot be read is an error', async (t) => {
  const lost: FileContentPart = {
    ...fileOf(),
    file: {
      size: 1,
      // oxlint-disable-next-line require-yield -- it fails
      async *stream() {
        throw new Error('gone')
      }
    }
  }
  await t.rejects(async () => loadFiles([lost]), { message: 'gone' })
})
