import { AcceptedMessageSchema, ContentPartSchema, MessageInputSchema, textOfInput } from '../src/part.ts'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'

const image = { type: 'image', mimeType: 'image/png' }

t.test('a content part is text, data or a URL', async (t) => {
  for (const part of [
    { type: 'text', text: '' },
    { ...image, data: 'AAAA', filename: '../../etc/passwd' },
    { ...image, type: 'file', url: 'https://example.org/a.pdf' }
  ])
    t.ok(Value.Check(ContentPartSchema, part), JSON.stringify(part))
  for (const part of [
    null,
    'text',
    {},
    image,
    { type: 'text' },
    { type: 'text', text: 'a', data: 'AAAA' },
    { ...image, data: 'AAAA', url: 'https://example.org' },
    { ...image, type: 'video', data: 'AAAA' },
    { ...image, mimeType: '', data: 'AAAA' },
    { ...image, url: '' },
    { ...image, data: 'AAAA', filename: 'x'.repeat(1_025) }
  ])
    t.notOk(Value.Check(ContentPartSchema, part), JSON.stringify(part)?.slice(0, 60))
})

t.test('a message is a text or a list, and never empty', async (t) => {
  t.ok(Value.Check(MessageInputSchema, 'a'))
  t.ok(Value.Check(MessageInputSchema, [{ type: 'text', text: 'a' }]))
  for (const input of ['', [], {}, null, 5, ['a']]) t.notOk(Value.Check(MessageInputSchema, input))
})

t.test('the text of an input', async (t) => {
  t.equal(textOfInput('a'), 'a')
  t.equal(
    textOfInput([
      { type: 'text', text: 'a' },
      { ...image, data: 'A' },
      { type: 'text', text: 'b' }
    ]),
    'a\nb'
  )
  t.equal(textOfInput([null, 5, 'x']), '')
  t.equal(textOfInput({ a: 1 }), '{"a":1}')
  t.equal(textOfInput(undefined), '')
})

t.test('an uploaded file is accepted, but not from JSON', async (t) => {
  const file = { size: 3, stream: () => [] }
  const part = { ...image, file }
  t.ok(Value.Check(AcceptedMessageSchema, [part, { type: 'text', text: 'a' }]))
  t.ok(Value.Check(AcceptedMessageSchema, 'a'))
  t.notOk(Value.Check(MessageInputSchema, [part]))
  for (const bad of [JSON.parse(JSON.stringify(part)), { ...part, data: '' }, { ...image, file: {} }]) {
    t.notOk(Value.Check(AcceptedMessageSchema, [bad]))
  }
  for (const input of ['', [], {}, null, 5, ['a']]) t.notOk(Value.Check(AcceptedMessageSchema, input))
})
