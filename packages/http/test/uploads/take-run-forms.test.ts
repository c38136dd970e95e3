import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import type { ErrorBody } from '@svc/http'
import type { AcceptedMessage, FileContentPart, RunResult } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'
import { samples } from '../helpers/file-samples.ts'
import { buildUploadApp, describeInput, formOf, untilEmpty, untilFolder } from '../helpers/upload-app.ts'

const image: [Uint8Array<ArrayBuffer>, string, string] = [samples.png, 'image/png', 'a.png']

t.test('a form starts a run as JSON does', async (t) => {
  const seen: unknown[] = []
  const spy = scriptedRunnable([
    (context, input) => seen.push([input, context.sessionId, context.userId, context.apiKey()?.reveal()])
  ])
  const { post, upload } = await buildUploadApp(t, {}, { runnables: [spy] })
  const body = { input: 'hello', sessionId: 's-1', userId: 'u', apiKey: 'k', onDisconnect: 'continue' }
  for (const action of ['run', 'stream']) {
    const path = `/agents/scripted/${action}`
    for (const response of [await post(path, body), await upload(formOf(body), `/api${path}`)]) {
      t.equal(response.status, 200)
      await response.text()
    }
  }
  t.strictSame(seen[0], ['hello', 's-1', 'u', 'k'])
  for (const each of seen) t.strictSame(each, seen[0])
  t.equal(seen.length, 4)
})

t.test('metadata, messages and tools of a form are JSON', async (t) => {
  const seen: unknown[] = []
  const spy = scriptedRunnable([
    ({ metadata, messages, instructions, clientTools }, input) =>
      seen.push({ input, metadata, messages, instructions, clientTools })
  ])
  const accepts = { options: { clientInstructions: true, clientTools: true } }
  const { upload } = await buildUploadApp(t, {}, { runnables: [spy], ...accepts })
  const given = {
    metadata: { customer: 'c-17' },
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [{ name: 'a', description: 'b', input: { type: 'object' } }]
  }
  const fields = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, JSON.stringify(value)])
  )
  const path = '/api/agents/scripted/run'
  t.equal((await upload(formOf({ ...fields, instructions: 'Be brief' }, image), path)).status, 200)
  t.equal((await upload(formOf({ messages: fields['messages'] ?? '' }), path)).status, 200)
  t.match(seen, [
    {
      input: [{ type: 'image' }],
      metadata: given.metadata,
      messages: given.messages,
      instructions: 'Be brief',
      clientTools: given.tools
    },
    { input: 'Hello', messages: [] }
  ])
  const bad = [
    [{ messages: 'Hello' }, 'HTTP_ERR_BAD_JSON'],
    [{ metadata: '' }, 'HTTP_ERR_BAD_JSON'],
    [{ metadata: '{"__proto__":"a"}' }, 'HTTP_ERR_BAD_JSON'],
    [{ tools: `${'['.repeat(10_000)}${']'.repeat(10_000)}` }, 'HTTP_ERR_BAD_JSON'],
    [{ metadata: '"a"' }, 'HTTP_ERR_VALIDATION'],
    [{ tools: '[{}]' }, 'HTTP_ERR_VALIDATION']
  ] as const
  for (const [form, code] of bad)
    await requireError(t, await upload(formOf({ input: 'x', ...form }), path), 400, code)
})

t.test('files follow the text and are read during the run', async (t) => {
  const { upload, folder } = await buildUploadApp(t)
  const path = '/api/agents/reader/run'
  const part = { type: 'image', mimeType: 'image/png', filename: 'a.png', size: samples.png.length }
  const both = (await (await upload(formOf({ input: 'look' }, image), path)).json()) as RunResult
  t.match(JSON.parse(both.text), [{ type: 'text', text: 'look' }, part])
  const alone = (await (await upload(formOf({}, image), path)).json()) as RunResult
  t.match(JSON.parse(alone.text), [part])
  await untilEmpty(folder)
})

t.test('invalid fields are refused as in JSON', async (t) => {
  const { post, upload } = await buildUploadApp(t)
  const bodies: Record<string, string>[] = [
    {},
    { input: '' },
    { input: 'x', unknown: 'y' },
    { input: 'x', sessionId: '' },
    { input: 'x', sessionId: 'y'.repeat(257) },
    { input: 'x', userId: 'a\nb' },
    { input: 'x', onDisconnect: 'explode' },
    { sessionId: 's' }
  ]
  for (const body of bodies) {
    for (const path of ['/agents/reader/run', '/agents/reader/stream', '/agents/nobody/run']) {
      const json = await post(path, body)
      const form = await upload(formOf(body), `/api${path}`)
      t.equal(form.status, json.status, JSON.stringify(body))
      const [expected, found] = (await Promise.all([json.json(), form.json()])) as [ErrorBody, ErrorBody]
      t.strictSame({ ...found, requestId: '' }, { ...expected, requestId: '' })
      t.ok(json.status === 400 || json.status === 404)
    }
  }
})

t.test('a file as text, and text as a file', async (t) => {
  const { upload, folder } = await buildUploadApp(t)
  const send = async (form: FormData, path: string) =>
    requireError(t, await upload(form, '/api/agents/reader/run'), 400, 'HTTP_ERR_VALIDATION', path)
  const misplaced = (name: string) => {
    const form = formOf({}, image)
    form.append(name, new Blob(['x'], { type: 'text/plain' }), 'a.txt')
    return form
  }
  for (const [form, path, message] of [
    [formOf({ input: 'x', files: 'y' }), 'body/files', 'must be files'],
    [misplaced('input'), 'body/input', 'must be text'],
    [misplaced('apiKey'), 'body/apiKey', 'must be text'],
    [misplaced('other'), 'body/other', 'is not known']
  ] as const) {
    t.strictSame((await send(form, path)).errors, [{ path, message }])
  }
  await untilEmpty(folder)
})

t.test('a run that outlives its client keeps its files until it ends', async (t) => {
  const started = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const late = scriptedRunnable([
    () => started.resolve(),
    () => goOn.promise,
    { type: 'text', text: 'read:' },
    async (_context, input) => {
      const [part] = input as FileContentPart[]
      const found = (await describeInput([part] as AcceptedMessage)) as object[]
      seen.push(found[0])
    }
  ])
  const seen: unknown[] = []
  const { origin, folder, app, upload } = await buildUploadApp(t, {}, { runnables: [late] })
  const gone = new AbortController()
  const sending = fetch(`${origin}/api/agents/scripted/run`, {
    method: 'POST',
    body: formOf({ onDisconnect: 'continue' }, image),
    signal: gone.signal
  })
  const [socket] = await once(app.server, 'connection')
  await started.promise
  const kept = await readdir(folder)
  gone.abort()
  await t.rejects(sending)
  await once(socket, 'close')
  // The files of a later request go, these stay.
  t.equal((await upload(formOf({}, image))).status, 200)
  await untilFolder(folder, (names) => names.every((name) => kept.includes(name)))
  t.strictSame(await readdir(folder), kept)
  t.equal(kept.length, 1)
  goOn.resolve()
  await untilEmpty(folder)
  t.match(seen, [{ type: 'image', size: samples.png.length }])
})

t.test('a run canceled by its client’s disconnect leaves no file', async (t) => {
  const started = Promise.withResolvers<void>()
  const endless = scriptedRunnable([() => started.resolve(), 60_000])
  const { origin, folder } = await buildUploadApp(t, {}, { runnables: [endless] })
  const gone = new AbortController()
  const sending = fetch(`${origin}/api/agents/scripted/stream`, {
    method: 'POST',
    body: formOf({}, image),
    signal: gone.signal
  })
  await started.promise
  gone.abort()
  await sending.catch(() => {})
  await untilEmpty(folder)
})

t.test('a failed or refused run leaves no file', async (t) => {
  const failing = scriptedRunnable([
    () => {
      throw new Error('no')
    }
  ])
  const form = () => formOf({ input: 'x' }, image)
  const { upload, folder } = await buildUploadApp(t, {}, { runnables: [failing] })
  for (const [path, status] of [
    ['/api/agents/scripted/run', 500],
    ['/api/agents/nobody/run', 404],
    ['/api/workflows/scripted/stream', 404]
  ] as const) {
    const response = await upload(form(), path)
    t.equal(response.status, status)
    await response.text()
    await untilEmpty(folder)
  }
})

t.test('without the option, and on other routes, a form is 415', async (t) => {
  const plain = await buildApp(t, { runnables: [echo] })
  const { upload } = await buildUploadApp(t)
  const refused = [
    await fetch(`${plain.url}/agents/echo/run`, { method: 'POST', body: formOf({ input: 'x' }) }),
    await upload(formOf({ input: 'x' }), '/api/runs/some/cancel')
  ]
  for (const response of refused) await requireError(t, response, 415, 'HTTP_ERR_UNSUPPORTED_MEDIA_TYPE')
})

t.test('JSON cannot name uploaded files', async (t) => {
  const { post } = await buildUploadApp(t)
  const file = { size: 1, stream: 'x' }
  for (const input of [
    [{ type: 'file', mimeType: 'a/b', file }],
    [{ type: 'file', mimeType: 'a/b', file: {} }]
  ]) {
    await requireError(t, await post('/agents/reader/run', { input }), 400, 'RUN_ERR_BAD_INPUT')
  }
})
