import { randomBytes } from 'node:crypto'
import type { PartOf } from '@svc/registry'
import t from 'tap'
import { readParts } from '../helpers/event-stream.ts'
import { buildUploadApp, formOf } from '../helpers/upload-app.ts'

t.test('the start of a run refers to uploaded files by what they are', async (t) => {
  const { upload } = await buildUploadApp(t, { allowedMimeTypes: ['text/plain', 'application/*'] })
  const form = formOf(
    { input: 'look' },
    ['hello', 'text/plain', 'a.txt'],
    [randomBytes(300_000), 'application/x-large', 'large.bin'],
    ['', 'text/plain', 'empty.txt']
  )
  const response = await upload(form, '/api/agents/reader/stream')
  const [start, text] = (await readParts(response)) as unknown as [PartOf<'start'>, PartOf<'text'>]
  // The agent has read the files and hashed them itself.
  t.same(start.input, JSON.parse(text.text))
  t.match(start.input, [{ type: 'text', text: 'look' }, { size: 5 }, { size: 300_000 }, { size: 0 }])
})
