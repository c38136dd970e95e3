import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { start, untilSaid, type Running } from './helpers/shell.ts'

const SERVICE = join(import.meta.dirname, 'helpers/file-service.ts')
const ROOT = join(import.meta.dirname, '..')
// The content of such files is not looked at.
const OCTETS = 'application/x-bytes'

interface Service extends Running {
  base: string
}

interface Answer {
  runId: string
  status: string
  text: string
  result: { text: string }
  error: { code: string }
}

/** Starts the service on a database in a folder; its temporary files are in there too. */
async function serve(
  t: Test,
  folder: string,
  flags: readonly string[],
  by = (command: string[]) => command
): Promise<Service> {
  const tmp = join(folder, 'tmp')
  mkdirSync(tmp, { recursive: true })
  const node = [process.execPath, '--conditions=@svc/source', '--disable-warning=ExperimentalWarning']
  const command = by([...node, SERVICE, `sqlite:${join(folder, 'app.db')}`, ...flags])
  const running = start(t, command, { cwd: ROOT, env: { TMPDIR: tmp } })
  const [, base = ''] =
    /Server listening at (\S+?)"/.exec(await untilSaid(running, 'Server listening at ')) ?? []
  return { ...running, base }
}

async function ask(base: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(base + path, init)
  return (await response.json()) as Answer
}

const json = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body)
})

const ASYNC = { prefer: 'respond-async' }

/** The ways in which a client sends bytes; each starts a run in the background. */
const WAYS: Record<string, (base: string, bytes: Buffer<ArrayBuffer>) => Promise<string>> = {
  async upload(base, bytes) {
    const body = new FormData()
    body.append('input', 'What is it?')
    body.append('files', new Blob([bytes], { type: OCTETS }), '../a.bin')
    return (await ask(base, '/api/agents/eye/run', { method: 'POST', headers: ASYNC, body })).runId
  },
  async base64(base, bytes) {
    const input = [{ type: 'file', mimeType: OCTETS, data: bytes.toString('base64') }]
    return (await ask(base, '/api/agents/eye/run', json({ input }, ASYNC))).runId
  },
  async 'A2A message'(base, bytes) {
    const parts = [{ kind: 'file', file: { bytes: bytes.toString('base64'), mimeType: OCTETS } }]
    const params = {
      message: { kind: 'message', role: 'user', messageId: 'm', parts },
      configuration: { blocking: false }
    }
    const answer = await ask(base, '/a2a', json({ jsonrpc: '2.0', id: 1, method: 'message/send', params }))
    return (answer.result as unknown as { id: string }).id
  }
}

async function untilEnded(base: string, runId: string): Promise<Answer> {
  for (;;) {
    const run = await ask(base, `/api/runs/${runId}`)
    if (['completed', 'failed', 'canceled'].includes(run.status)) return run
    await pause(50)
  }
}

/** Starts a run in each way, and kills the service while their models are asked. */
async function killAll(service: Service, bytesOf: (way: string) => Buffer<ArrayBuffer>) {
  const runIds: Record<string, string> = {}
  for (const [way, send] of Object.entries(WAYS)) runIds[way] = await send(service.base, bytesOf(way))
  const asked = () => service.output.stdout.split('the model is asked').length - 1
  while (asked() < Object.keys(WAYS).length) await pause(20)
  service.child.kill('SIGKILL')
  await service.ended
  return runIds
}

/** The files below a folder that have the bytes, or the beginning of their base64. */
function filesWith(folder: string, bytes: Buffer): string[] {
  const base64 = bytes.toString('base64').slice(0, 40)
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => {
      const content = readFileSync(path)
      return content.includes(bytes.subarray(0, 64)) || content.includes(base64)
    })
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

t.setTimeout(120_000)

t.test('runs with bytes of clients resume after kill -9 where the app keeps them', async (t) => {
  const folder = t.testdir()
  const contents = Object.fromEntries(
    Object.keys(WAYS).map((way) => [way, randomBytes(way === 'upload' ? 3_000_000 : 300_000)])
  )
  const runIds = await killAll(await serve(t, folder, ['keep', 'hold']), (way) => contents[way]!)
  const { base } = await serve(t, folder, ['keep'])
  t.same(
    readdirSync(join(folder, 'tmp')).filter((name) => name.startsWith('svc-upload')),
    []
  )
  for (const [way, bytes] of Object.entries(contents)) {
    const runId = runIds[way]!
    t.match(await untilEnded(base, runId), { status: 'completed', result: { text: sha256(bytes) } }, way)
    t.match(filesWith(folder, bytes), [/app\.db-files\/[^/]+$/], 'it is kept once')
    const stream = await (await fetch(`${base}/api/runs/${runId}/stream`)).text()
    const [, fileId = ''] = /"fileId":"([^"]+)"/.exec(stream) ?? []
    const file = await fetch(`${base}/api/runs/${runId}/files/${fileId}`)
    t.equal(sha256(await file.bytes()), sha256(bytes), `${way} is served`)
  }
})

t.test('by default no byte of a client is on disk, whether its run ends or dies', async (t) => {
  const folder = t.testdir()
  const bytes = randomBytes(3_000)
  const runIds = await killAll(await serve(t, folder, ['hold']), () => bytes)
  const { base } = await serve(t, folder, [])
  for (const [way, runId] of Object.entries(runIds))
    t.match(await untilEnded(base, runId), { status: 'failed', error: { code: 'RUN_ERR_INTERRUPTED' } }, way)
  t.same(filesWith(folder, bytes), [])

  // The message of A2A is another one than before.
  const others = randomBytes(3_000)
  for (const [way, send] of Object.entries(WAYS)) {
    if (way === 'A2A message') continue
    const runId = await send(base, others)
    t.match(await untilEnded(base, runId), { result: { text: sha256(others) } }, way)
  }
  while (readdirSync(join(folder, 'tmp')).some((name) => name.startsWith('svc-upload'))) await pause(20)
  t.same(filesWith(folder, others), [])
  t.notOk(readdirSync(folder).includes('app.db-files'))
})

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-Urm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

t.test(
  'a run whose file finds a full disk goes on, and nothing of the file is left',
  { skip: !canMount() && 'nothing can be mounted' },
  async (t) => {
    const folder = t.testdir()
    const files = join(folder, 'app.db-files')
    mkdirSync(files)
    const mount = 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"'
    const service = await serve(t, folder, [], (node) => [
      'unshare',
      '-Urm',
      'sh',
      '-c',
      mount,
      files,
      ...node
    ])
    const left = () => readdirSync(`/proc/${service.child.pid}/root${files}`)
    const paint = (bytes: number) =>
      ask(service.base, '/api/agents/painter/run', json({ input: `${bytes} bytes` })) as Promise<
        Answer & { files: { fileId?: string; size: number }[] }
      >
    const [large, small] = [await paint(2_000_000), await paint(1_000)]
    t.match(large, { text: 'Painted.', files: [{ size: 2_000_000, fileId: undefined }] })
    t.match(small, { text: 'Painted.', files: [{ size: 1_000, fileId: String }] })
    t.same(left(), [small.files[0]!.fileId])
    t.match(service.output.stdout, /a store fails: ENOSPC: no space left on device/)
    t.match(service.output.stdout, /a file of the run is not kept/)
    t.equal((await fetch(`${service.base}/api/readyz`)).status, 200)
  }
)
