import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import multipart from '@fastify/multipart'
import { uploadPlugin } from '@svc/http'
import Fastify from 'fastify'
import t from 'tap'
import { samples } from '../helpers/file-samples.ts'
import { buildUploadApp, formOf, untilEmpty, useTempFolder, type SeenFile } from '../helpers/upload-app.ts'

type Seen = { fields: Record<string, string>; files: SeenFile[] }
const sha256 = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')
const PATHS = ['/up', '/api/agents/reader/run', '/api/agents/reader/stream']

t.test('fields and files arrive as they were sent', async (t) => {
  const { upload, folder } = await buildUploadApp(t)
  const big = new Uint8Array(3_000_001).fill(7)
  const form = formOf(
    { note: 'Grüße\r\n', empty: '' },
    [samples.png, 'image/png', 'a.png'],
    ['', 'text/plain', 'empty.txt'],
    [big, 'application/octet-stream', '../../etc/passwd'],
    ['text', 'TEXT/Markdown; charset=utf-8', '..']
  )
  form.append('other', new Blob([samples.pdf]), 'b.pdf')
  const response = await upload(form)
  t.equal(response.status, 200)
  const { fields, files } = (await response.json()) as Seen
  t.strictSame(fields, { note: 'Grüße\r\n', empty: '' })
  const a = {
    filename: 'a.png',
    mimeType: 'image/png',
    size: samples.png.length,
    sha256: sha256(samples.png)
  }
  t.strictSame(files, [
    { fieldName: 'files', ...a },
    { fieldName: 'files', filename: 'empty.txt', mimeType: 'text/plain', size: 0, sha256: sha256('') },
    {
      fieldName: 'files',
      filename: 'passwd',
      mimeType: 'application/octet-stream',
      size: big.length,
      sha256: sha256(big)
    },
    { fieldName: 'files', mimeType: 'text/markdown', size: 4, sha256: sha256('text') },
    {
      fieldName: 'other',
      filename: 'b.pdf',
      mimeType: 'application/pdf',
      size: samples.pdf.length,
      sha256: sha256(samples.pdf)
    }
  ])
  await untilEmpty(folder)
})

t.test('files are private, with random names, until the reply', async (t) => {
  const folder = await useTempFolder(t)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(uploadPlugin())
  app.post('/up', async () => {
    const [name, ...others] = await readdir(folder)
    t.strictSame(others, [])
    const directory = join(folder, name!)
    t.equal((await stat(directory)).mode & 0o777, 0o700)
    const names = await readdir(directory)
    t.equal(names.length, 2)
    for (const each of names) {
      t.match(each, /^[0-9a-f-]{36}$/)
      t.equal((await stat(join(directory, each))).mode & 0o777, 0o600)
    }
    return { ok: true }
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const body = formOf({}, ['a', 'text/plain', 'a.txt'], ['b', 'text/plain', '/tmp/b.txt'])
  t.equal((await fetch(`${origin}/up`, { method: 'POST', body })).status, 200)
  await untilEmpty(folder)
})

t.test('exceeded limits are 413', async (t) => {
  const limits = { maxFileSize: 1_000_000, maxFiles: 2, maxTotalSize: 1_500_000 }
  const { origin, folder } = await buildUploadApp(t, limits)
  const [one, most, half] = [1_000_001, 1_000_000, 500_001].map((size) => 'x'.repeat(size)) as [
    string,
    string,
    string
  ]
  const file = (content: string): [string, string, string] => [content, 'text/plain', 'a.txt']
  for (const path of PATHS) {
    const send = async (form: FormData) => {
      const response = await fetch(origin + path, { method: 'POST', body: form })
      const text = await response.text()
      return [response.status, response.ok ? '' : JSON.parse(text).code]
    }
    const tooLarge = [413, 'HTTP_ERR_UPLOAD_TOO_LARGE']
    t.strictSame(await send(formOf({}, file(most), file('x'))), [200, ''], 'as much as is permitted')
    t.strictSame(await send(formOf({}, file(one))), tooLarge, 'a file')
    t.strictSame(await send(formOf({}, file(most), file(half))), tooLarge, 'all files')
    t.strictSame(await send(formOf({}, file('a'), file('b'), file('c'))), tooLarge, 'too many')
    t.strictSame(await send(formOf({ input: 'x'.repeat(1_048_576) })), [200, ''], 'a long text')
    const long = formOf({ input: 'x'.repeat(1_048_577) })
    t.strictSame(await send(long), [413, 'HTTP_ERR_BODY_TOO_LARGE'], 'too long a text')
    const both = formOf({ input: 'x'.repeat(1_048_000), sessionId: 'y'.repeat(1_000) })
    t.strictSame(await send(both), [413, 'HTTP_ERR_BODY_TOO_LARGE'], 'too much text together')
  }
  await untilEmpty(folder)
})

t.test('an excessive Content-Length is refused before the body', async (t) => {
  const { sendRaw, folder } = await buildUploadApp(t, { maxFileSize: 1_000 })
  const answer = await sendRaw(
    'POST /up HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=x\r\n',
    'Content-Length: 99999999\r\n\r\n--x\r\n'
  )
  t.match(answer, /^HTTP\/1\.1 413 [^]*HTTP_ERR_UPLOAD_TOO_LARGE/)
  await untilEmpty(folder)
})

t.test('types that are not permitted or wrong are 415', async (t) => {
  const { origin, folder } = await buildUploadApp(t, {
    allowedMimeTypes: ['image/*', 'text/plain', 'application/pdf']
  })
  const lies: Parameters<typeof formOf>[1][] = [
    [samples.png, 'text/plain', 'a.txt'],
    [samples.html, 'image/png', 'a.png'],
    [samples.exe, 'application/pdf', 'a.pdf'],
    [samples.exe, 'application/octet-stream', 'a.bin'],
    [samples.zip, 'application/zip', 'a.zip'],
    [samples.text, 'text/html', 'a.html']
  ]
  for (const path of PATHS) {
    for (const lie of lies) {
      const body = formOf({ input: 'x' }, [samples.png, 'image/png', 'good.png'], lie!)
      const response = await fetch(origin + path, { method: 'POST', body })
      t.equal(response.status, 415, `${lie![1]} on ${path}`)
      t.match(await response.json(), { code: 'HTTP_ERR_UPLOAD_TYPE' })
    }
    const body = formOf({ input: 'x' }, [samples.gif, 'application/octet-stream', 'a'])
    t.equal((await fetch(origin + path, { method: 'POST', body })).status, 200)
  }
  await untilEmpty(folder)
})

t.test('files are kept for work beyond the reply, but not beyond the app', async (t) => {
  const folder = await useTempFolder(t)
  const app = Fastify()
  await app.register(uploadPlugin())
  const work = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  app.post<{ Querystring: { work: number } }>('/up', async ({ uploads, query }) => {
    uploads?.keepUntil(work[query.work]!.promise)
    return {}
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  for (const [index, { resolve, reject }] of work.entries()) {
    const body = formOf({}, ['a', 'text/plain', 'a'])
    t.ok((await fetch(`${origin}/up?work=${index}`, { method: 'POST', body })).ok)
    // A second request on the same connection comes after the first is over.
    await fetch(origin)
    t.equal((await readdir(folder)).length, 1)
    if (index === 0) resolve()
    else if (index === 1) reject(new Error('the work failed'))
    else await app.close()
    await untilEmpty(folder)
  }
})

t.test('forms to unknown paths, and to routes outside its scope, are not read', async (t) => {
  const folder = await useTempFolder(t)
  const app = Fastify()
  t.teardown(() => app.close())
  app.post('/outside', async () => ({}))
  await app.register(async (scope) => {
    await scope.register(uploadPlugin())
    scope.post('/inside', async ({ uploads, body }) => ({ uploads: uploads?.files.length, body }))
    scope.get('/inside', async ({ uploads }) => ({ uploads: uploads === undefined }))
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const send = (path: string) =>
    fetch(origin + path, { method: 'POST', body: formOf({ a: '1' }, ['a', 'text/plain', 'a']) })
  t.equal((await send('/outside')).status, 415)
  t.strictSame(await (await send('/inside')).json(), { uploads: 1, body: { a: '1' } })
  t.strictSame(await (await fetch(`${origin}/inside`)).json(), { uploads: true })
  await untilEmpty(folder)
})

t.test('a host may use multipart by itself', async (t) => {
  const { upload, origin } = await buildUploadApp(
    t,
    {},
    { before: (app) => app.register(multipart, { limits: { fileSize: 10 } }) }
  )
  const form = formOf({ input: 'x' }, ['more than ten bytes', 'text/plain', 'a.txt'])
  for (const path of PATHS) t.equal((await upload(form, path)).status, 200, origin + path)
})

t.test(
  'what the app’s own multipart attaches to bodies is not looked for in forms that are read',
  async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(multipart, { attachFieldsToBody: 'keyValues' })
    await app.register(uploadPlugin())
    app.post('/up', (request, reply) => {
      const { uploads, body } = request
      void reply.send({ isMultipart: request.isMultipart(), files: uploads?.files.length, body })
    })
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const body = formOf({ note: 'x' }, ['a', 'text/plain', 'a'])
    const response = await fetch(`${origin}/up`, { method: 'POST', body })
    t.strictSame(await response.json(), { isMultipart: true, files: 1, body: { note: 'x' } })
  }
)
