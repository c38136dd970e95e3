import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, watch } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { uploadPlugin, type FileUploadOptions, type Uploads } from '@svc/http'
import type { AcceptedMessage, RunContext } from '@svc/registry'
import { buildApp, type AppRequest, type TestApp } from './build-app.ts'

/** What the routes of the app say of a file that they read. */
export interface SeenFile {
  fieldName?: string
  filename?: string | undefined
  mimeType: string
  size: number
  sha256: string
}

/** An app whose `POST /up` tells what was uploaded, and whose agent `reader` tells what it was given. */
export interface UploadApp extends TestApp {
  /** Where the temporary files are. */
  folder: string
  upload(form: FormData, path?: string): Promise<Response>
  /** Sends this as it is, and gives all that comes back until the server closes the connection. */
  sendRaw(...chunks: (string | Uint8Array)[]): Promise<string>
}

/** Serves uploads, with a folder of its own for temporary files, until the test ends. */
export async function buildUploadApp(
  t: { teardown(fn: () => unknown): unknown },
  fileUpload: FileUploadOptions = {},
  { before, ...request }: AppRequest = {}
): Promise<UploadApp> {
  const folder = await useTempFolder(t)
  const app = await buildApp(t, {
    runnables: [reader],
    ...request,
    options: { fileUpload, ...request.options },
    before: async (app) => {
      await before?.(app)
      await app.register(uploadPlugin(fileUpload))
      app.post('/up', ({ uploads }) => describe(uploads))
    }
  })
  const { port } = new URL(app.origin)
  return {
    ...app,
    folder,
    upload: (form, path = '/up') =>
      app.check('POST', path.replace(/^\/api/, ''), fetch(app.origin + path, { method: 'POST', body: form })),
    async sendRaw(...chunks) {
      const socket = connect(Number(port), '127.0.0.1')
      let answer = ''
      socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
      for (const chunk of chunks) socket.write(chunk)
      socket.end()
      await once(socket, 'close')
      return answer
    }
  }
}

/** Makes `os.tmpdir()` a new folder until the test ends. */
export async function useTempFolder(t: { teardown(fn: () => unknown): unknown }): Promise<string> {
  const before = process.env['TMPDIR']
  const folder = await mkdtemp(join(tmpdir(), 'svc-test-'))
  process.env['TMPDIR'] = folder
  t.teardown(() => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    return rm(folder, { recursive: true })
  })
  return folder
}

/** Resolves when there is nothing in a folder any more. */
export function untilEmpty(folder: string): Promise<void> {
  return untilFolder(folder, (names) => names.length === 0)
}

/** Resolves when the names in a folder are as wanted. */
export async function untilFolder(folder: string, isWanted: (names: string[]) => boolean): Promise<void> {
  const found = new AbortController()
  const events = watch(folder, { signal: AbortSignal.any([found.signal, AbortSignal.timeout(20_000)]) })
  // Begins to watch.
  let next = events.next()
  while (!isWanted(await readdir(folder))) {
    await next
    next = events.next()
  }
  next.catch(() => {})
  found.abort()
}

/** A form with files, each given as content, type and name. */
export function formOf(
  fields: Record<string, string>,
  ...files: [content: string | Uint8Array<ArrayBuffer>, type: string, name: string][]
): FormData {
  const form = new FormData()
  for (const [name, text] of Object.entries(fields)) form.append(name, text)
  for (const [content, type, name] of files) form.append('files', new Blob([content], { type }), name)
  return form
}

async function describe(uploads: Uploads | undefined) {
  const files: SeenFile[] = []
  for (const file of uploads?.files ?? []) {
    const { fieldName, filename, mimeType, size } = file
    files.push({ fieldName, filename, mimeType, size, sha256: await hash(file.stream()) })
  }
  return { fields: uploads?.fields, files }
}

/** What an input says, the content of its files hashed. */
export async function describeInput(input: AcceptedMessage): Promise<unknown> {
  if (typeof input === 'string') return input
  return Promise.all(
    input.map(async (part) => {
      if (!('file' in part)) return part
      const { file, ...rest } = part
      return { ...rest, size: file.size, sha256: await hash(file.stream()) }
    })
  )
}

const reader = {
  kind: 'agent' as const,
  name: 'reader',
  async *stream(input: unknown, _context: RunContext) {
    yield { type: 'text' as const, text: JSON.stringify(await describeInput(input as AcceptedMessage)) }
  }
}

async function hash(content: AsyncIterable<Uint8Array>): Promise<string> {
  const sum = createHash('sha256')
  for await (const chunk of content) sum.update(chunk)
  return sum.digest('hex')
}
