import { buildInput, UploadedFile, uploadPlugin } from '@svc/http'
import type { AcceptedMessage, FileContentPart } from '@svc/registry'
import { AcceptedMessageSchema } from '@svc/contract'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'
import { describeInput, formOf, useTempFolder } from '../helpers/upload-app.ts'

const fileOf = (mimeType: string, filename?: string) =>
  new UploadedFile({ fieldName: 'files', filename, mimeType, size: 3, sha256: 'abc' }, import.meta.filename)

t.test('without files the input is body.input', async (t) => {
  const list = [{ type: 'text', text: 'hello' }]
  t.equal(buildInput({ input: 'hello' }, []), 'hello')
  t.equal(buildInput({ input: 'hello', sessionId: 's' }, []), 'hello')
  t.equal(buildInput({ input: 'hello' }), 'hello')
  t.equal(buildInput({ input: '' }, []), '')
  t.strictSame(buildInput({ input: list }, []), list)
})

t.test('with files the input is a list: the text, if any, then the files', async (t) => {
  const files = [fileOf('image/png', 'a.png'), fileOf('audio/mpeg'), fileOf('application/pdf', 'c.pdf')]
  const parts = [
    { type: 'image', mimeType: 'image/png', filename: 'a.png', file: { size: 3 } },
    { type: 'audio', mimeType: 'audio/mpeg', file: { size: 3 } },
    { type: 'file', mimeType: 'application/pdf', filename: 'c.pdf', file: { size: 3 } }
  ]
  const text = { type: 'text', text: 'look' }
  t.match(buildInput({ input: 'look' }, files), [text, ...parts])
  t.match(buildInput({ input: [text] }, files), [text, ...parts])
  for (const body of [{ input: '' }, {}]) {
    t.match(buildInput(body, files), parts)
    t.equal(buildInput(body, files).length, 3)
  }
  t.ok(Value.Check(AcceptedMessageSchema, buildInput({ input: 'look' }, files)))
})

t.test('a file is read on demand, repeatedly', async (t) => {
  const [part] = buildInput({}, [fileOf('text/plain')]) as FileContentPart[]
  for (let time = 0; time < 2; time++) {
    let text = ''
    for await (const chunk of part!.file.stream()) text += Buffer.from(chunk).toString()
    t.match(text, 'a file is read when it is asked for')
  }
})

t.test('a body without a valid input is the client’s error', async (t) => {
  const file = fileOf('text/plain')
  const bad: [body: unknown, files: UploadedFile[], path: string][] = [
    ['look', [file], 'body'],
    [undefined, [], 'body'],
    [null, [file], 'body'],
    [7, [], 'body'],
    [['look'], [file], 'body'],
    [{}, [], 'body/input'],
    [{ input: undefined }, [], 'body/input'],
    [Object.create({ input: 'inherited' }), [], 'body/input'],
    [{ input: null }, [file], 'body/input'],
    [{ input: 5 }, [file], 'body/input'],
    [{ input: {} }, [], 'body/input'],
    [{ input: [] }, [file], 'body/input'],
    [{ input: ['look'] }, [], 'body/input'],
    [{ input: [{ type: 'text' }] }, [], 'body/input']
  ]
  for (const [body, files, path] of bad)
    t.throws(
      () => buildInput(body, files),
      { code: 'HTTP_ERR_VALIDATION', statusCode: 400, message: RegExp(`^${path}: `), errors: [{ path }] },
      JSON.stringify(body)
    )
})

t.test('invalid files are the app’s error', async (t) => {
  const bad: unknown[] = [
    null,
    'files',
    {},
    7,
    [null],
    ['a.txt'],
    [{ mimeType: 'text/plain' }],
    fileOf('a/b')
  ]
  for (const files of bad)
    t.throws(
      () => buildInput({ input: 'look' }, files as UploadedFile[]),
      { code: 'HTTP_ERR_BAD_OPTION', statusCode: 500, message: /buildInput: files/ },
      JSON.stringify(files)
    )
})

t.test('in a route of an app: the body and the files of a form, or JSON', async (t) => {
  await useTempFolder(t)
  const { origin } = await buildApp(t, {
    before: async (app) => {
      await app.register(uploadPlugin())
      app.post('/ask', ({ body, uploads }) =>
        describeInput(buildInput(body, uploads?.files) as AcceptedMessage).then((input) => ({ input }))
      )
    }
  })
  const ask = async (body: FormData | string) => {
    const json = typeof body === 'string' && { headers: { 'content-type': 'application/json' } }
    return (await fetch(`${origin}/ask`, { method: 'POST', body, ...json })).json()
  }
  t.match(await ask(formOf({ input: 'look' }, ['abc', 'text/plain', 'a.txt'])), {
    input: [
      { type: 'text', text: 'look' },
      { type: 'file', mimeType: 'text/plain', filename: 'a.txt', size: 3 }
    ]
  })
  t.strictSame(await ask(formOf({ input: 'look' })), { input: 'look' })
  t.strictSame(await ask('{"input":"look"}'), { input: 'look' })
  t.match(await ask('{"text":"look"}'), { statusCode: 400, code: 'HTTP_ERR_VALIDATION' })
})
