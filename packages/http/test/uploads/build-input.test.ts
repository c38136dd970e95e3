import { buildInput, UploadedFile } from '@svc/http'
import { AcceptedMessageSchema, type FileContentPart } from '@svc/registry'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'

const fileOf = (mimeType: string, filename?: string) =>
  new UploadedFile({ fieldName: 'files', filename, mimeType, size: 3 }, import.meta.filename)

t.test('without files the input is the text', async (t) => {
  t.equal(buildInput('hello', []), 'hello')
  t.equal(buildInput('', []), '')
})

t.test('with files it is a list: the text, if there is any, then the files', async (t) => {
  const files = [fileOf('image/png', 'a.png'), fileOf('audio/mpeg'), fileOf('application/pdf', 'c.pdf')]
  const parts = [
    { type: 'image', mimeType: 'image/png', filename: 'a.png', file: { size: 3 } },
    { type: 'audio', mimeType: 'audio/mpeg', file: { size: 3 } },
    { type: 'file', mimeType: 'application/pdf', filename: 'c.pdf', file: { size: 3 } }
  ]
  t.match(buildInput('look', files), [{ type: 'text', text: 'look' }, ...parts])
  t.match(buildInput('', files), parts)
  t.equal(buildInput('', files).length, 3)
  t.ok(Value.Check(AcceptedMessageSchema, buildInput('look', files)))
})

t.test('a file is read when it is asked for, as often as it is', async (t) => {
  const [part] = buildInput('', [fileOf('text/plain')]) as FileContentPart[]
  for (let time = 0; time < 2; time++) {
    let text = ''
    for await (const chunk of part!.file.stream()) text += Buffer.from(chunk).toString()
    t.match(text, 'a file is read when it is asked for')
  }
})
