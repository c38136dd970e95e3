import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { start, untilSaid, type Running } from './helpers/shell.ts'

const SERVICE = join(import.meta.dirname, 'helpers/stored-service.ts')
const ROOT = join(import.meta.dirname, '..')
const STORE = { statusCode: 503, code: 'RUN_ERR_STORE' }

interface Service extends Running {
  file: string
  /** Sends a request. */
  ask(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>
  /** The lines of its log. */
  lines(): { level: number; msg: string; err?: unknown; code?: string }[]
}

interface Answer {
  status: number
  body: Record<string, unknown> & { runId: string; status: string }
}

/** Starts the service on a database in a folder, with a command. */
async function serve(t: Test, folder: string, by: (node: string[]) => string[]): Promise<Service> {
  const file = join(folder, 'app.db')
  const node = [
    process.execPath,
    '--conditions=@svc/source',
    '--disable-warning=ExperimentalWarning',
    SERVICE
  ]
  const running = start(t, by([...node, `sqlite:${file}`, join(folder, 'filler')]), { cwd: ROOT })
  const said = await untilSaid(running, 'Server listening at ')
  const [, base = ''] = /Server listening at (\S+?)"/.exec(said) ?? []
  return {
    ...running,
    file,
    async ask(method, path, body, headers = {}) {
      const json = body && { 'content-type': 'application/json' }
      const response = await fetch(base + path, {
        method,
        headers: { ...json, ...headers },
        ...(body && { body: JSON.stringify(body) })
      })
      const text = await response.text()
      return { status: response.status, body: (text.startsWith('{') ? JSON.parse(text) : { text }) as never }
    },
    lines: () =>
      running.output.stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as never)
  }
}

/** Repeats a request until the response matches. */
async function until(ask: () => Promise<Answer>, is: (answer: Answer) => boolean): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (is(answer)) return answer
    await pause(50)
  }
}

/** Starts a run in the background, and returns its id. */
async function startRun({ ask }: Service, path: string, input: string): Promise<string> {
  const { body } = await ask('POST', `/api/${path}/run`, { input }, { prefer: 'respond-async' })
  return body.runId
}

/** Starts a run and follows it: its id, and its whole stream. */
async function follow({ ask }: Service, path: string, input: string) {
  const streaming = ask('POST', `/api/${path}/stream`, { input, onDisconnect: 'continue' })
  const { body } = await until(
    () => ask('GET', '/api/runs?limit=1'),
    ({ body: { runs } }) => (runs as Answer['body'][])[0]?.['name'] === path.split('/')[1]
  )
  const { runId } = (body['runs'] as Answer['body'][])[0]!
  return { runId, all: streaming.then(({ body: { text } }) => String(text)) }
}

const isReady = ({ status }: Answer) => status === 200
const isNot = ({ status }: Answer) => status === 503
const hasStatus =
  (wanted: string) =>
  ({ body: { status } }: Answer) =>
    status === wanted

/** A disk that can be filled. */
interface Disk {
  service: Service
  fill(): unknown
  free(): unknown
}

const DISKS: Record<string, (t: Test) => Promise<Disk>> = {
  async 'a disk that takes no more bytes'(t) {
    const service = await serve(t, t.testdir(), (command) => command)
    const limit = (bytes: string) =>
      execFileSync('prlimit', ['--pid', `${service.child.pid}`, `--fsize=${bytes}:`])
    return { service, fill: () => limit('1'), free: () => limit('unlimited') }
  },
  async 'a full disk'(t) {
    const mount = 'mount -t tmpfs -o size=8m tmpfs "$0" && exec "$@"'
    const folder = t.testdir()
    const service = await serve(t, folder, (command) => [
      'unshare',
      '-Urm',
      'sh',
      '-c',
      mount,
      folder,
      ...command
    ])
    return { service, fill: () => service.ask('POST', '/fill'), free: () => service.ask('POST', '/free') }
  }
}

function can(...command: [string, ...string[]]): boolean {
  try {
    execFileSync(command[0], command.slice(1), { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const SKIPPED: Record<string, string | false> = {
  'a disk that takes no more bytes': !can('prlimit', '--version') && 'there is no prlimit',
  'a full disk': !can('unshare', '-Urm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt') && 'nothing can be mounted'
}

t.setTimeout(120_000)

for (const [name, make] of Object.entries(DISKS)) {
  t.test(
    `${name}: nothing acknowledged is lost, and all goes on when there is room again`,
    { skip: SKIPPED[name] ?? false },
    async (t) => {
      const { service, fill, free } = await make(t)
      const { ask } = service
      const record = (runId: string) => ask('GET', `/api/runs/${runId}`)
      const approve = (runId: string) => ask('POST', `/api/approvals/${runId}.1`, { approved: true })
      const cancel = (runId: string) => ask('POST', `/api/runs/${runId}/cancel`)
      t.equal((await ask('GET', '/api/readyz')).status, 200)
      await ask('POST', '/open/now')
      const waiting = await startRun(service, 'workflows/steps', 'now')
      const asking = await startRun(service, 'agents/asking', 'x')
      for (const runId of [waiting, asking]) await until(() => record(runId), hasStatus('input-required'))
      const slow = await follow(service, 'agents/slow', 'x')
      const inStep = await follow(service, 'workflows/steps', 'later')

      await fill()
      await until(() => ask('GET', '/api/readyz'), isNot)
      t.equal((await ask('GET', '/api/livez')).status, 200)
      t.match(await ask('POST', '/api/agents/quick/run', { input: 'x' }), { status: 503, body: STORE })
      for (const runId of [waiting, asking]) {
        t.match(await cancel(runId), { status: 503, body: STORE })
        t.match(await approve(runId), { status: 503, body: STORE })
      }
      await ask('POST', '/open/later')
      await ask('POST', '/open/slow')
      t.match(
        await slow.all,
        /\n\ndata: \{"type":"error","at":\d+,"error":\{"code":"RUN_ERR_STORE"[^\n]*\}\n\n$/
      )
      for (const { runId } of [slow, inStep]) t.match(await record(runId), { body: { status: 'working' } })

      await free()
      await until(() => ask('GET', '/api/readyz'), isReady)
      t.match(await approve(waiting), { status: 200 })
      t.match(await approve(asking), { status: 409, body: { code: 'RUN_ERR_INPUT_ANSWERED' } })
      const ended = await until(() => record(waiting), hasStatus('completed'))
      t.match(ended.body['result'], { text: /^first \d, second$/ })
      for (const runId of [asking, slow.runId])
        t.match(await until(() => record(runId), hasStatus('failed')), {
          body: { error: { code: 'RUN_ERR_STORE' } }
        })
      await until(() => record(inStep.runId), hasStatus('input-required'))
      t.match(await approve(inStep.runId), { status: 200 })
      const said = await inStep.all
      t.match(said, /"type":"tool\.approval\.request".*"type":"finish".*\nid: \d+\n\n$/s)
      const ids = [...said.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
      t.same(
        ids,
        ids.toSorted((a, b) => a - b).map((_, index) => index + 1),
        'no gap, and nothing twice'
      )
      t.match(await ask('POST', '/api/agents/quick/run', { input: 'x' }), { status: 200 })

      const loud = service.lines().filter(({ level }) => level >= 40)
      const faults = loud.filter(({ msg }) =>
        /^a store fails: (?:database or disk is full|disk I\/O error)$/.test(msg)
      )
      t.ok(faults.length === 1, `${faults.length} lines with the cause`)
      t.equal(loud.filter(({ msg }) => msg === 'the stores work again').length, 1)
      t.same(
        loud.filter(({ level, code }) => level > 40 && code === 'RUN_ERR_STORE'),
        []
      )
      service.child.kill('SIGTERM')
      t.equal(await service.ended, 0)
    }
  )
}

t.test('a lock by another program only keeps the service from writing', async (t) => {
  const service = await serve(t, t.testdir(), (command) => command)
  const { ask } = service
  t.equal((await ask('POST', '/api/agents/quick/run', { input: 'x' })).status, 200)
  const other = new DatabaseSync(service.file)
  other.exec('begin immediate')
  let isAnswered = false
  const starting = ask('POST', '/api/agents/quick/run', { input: 'x' }).finally(() => (isAnswered = true))
  const answers: number[] = []
  while (!isAnswered) answers.push((await ask('GET', '/api/runs')).status)
  t.ok(answers.length > 20, `${answers.length} answers while one waits`)
  t.same(new Set(answers), new Set([200]))
  t.match(await starting, { status: 503, body: STORE })
  t.match(await until(() => ask('GET', '/api/readyz'), isNot), { body: STORE })
  other.close()
  await until(() => ask('GET', '/api/readyz'), isReady)
  t.equal((await ask('POST', '/api/agents/quick/run', { input: 'x' })).status, 200)
  t.match(
    service.lines().filter(({ msg }) => msg.startsWith('a store fails')),
    [{ msg: 'a store fails: database is locked' }]
  )
})
