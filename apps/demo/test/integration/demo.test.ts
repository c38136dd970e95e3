import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { readEnv } from '../../src/env.ts'
import { SHELL, spawnDemo } from '../helpers/demo-process.ts'
import { needsChromium } from '../helpers/scout-app.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const bash = (command: string) => promisify(execFile)('bash', ['-c', command], { cwd: root })

// Each test starts processes and a browser, on a machine that may be busy.
t.setTimeout(400_000)

/** Pastes a command, as people do: no list of questions before there is a question. Answers wait for it by themselves. */
async function paste(command: string, exports = ''): Promise<string> {
  const [, question] = /^(curl -s \S+\/(?:approvals|inputs)(?: -H .*)?)$/.exec(command) ?? []
  const isAsked = async () => /"(?:approvalId|inputId)"/.test((await bash(`${exports}\n${question}`)).stdout)
  while (question !== undefined && !(await isAsked())) await pause(200)
  return (await bash(`${exports}\n${command}`)).stdout
}

type Ending = { teardown(what: () => unknown): unknown }

/** A demo that has said what to try. */
interface Demo {
  demo: ChildProcess
  said: string
  /** The commands that end by themselves. */
  curls: string[]
  /** What a second terminal is for: it follows a conversation. */
  follow: string
  exports: string
  base: string
}

/** A demo in a process of its own, once it has said what to try. */
async function startDemo(t: Ending, env: Record<string, string>): Promise<Demo> {
  const demo = spawn(process.execPath, ['--conditions=@svc/source', 'apps/demo/src/main.ts'], {
    cwd: root,
    env: { ...SHELL, PORT: '0', LOG_LEVEL: 'silent', ...env },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.teardown(() => demo.kill('SIGKILL'))
  let said = ''
  for await (const chunk of demo.stdout!.iterator({ destroyOnReturn: false })) {
    said += String(chunk)
    if (said.includes('Ctrl+C')) break
  }
  const linesWith = (program: string) => said.split('\n').filter((line) => line.startsWith(`  ${program} `))
  const all = linesWith('curl').map((line) => line.trim())
  const isEndless = (curl: string) => /\/sessions\/\S+\/stream/.test(curl)
  const curls = all.filter((curl) => !isEndless(curl))
  for (const line of linesWith('espeak-ng')) await bash(line)
  const exports = linesWith('export').join('\n')
  return {
    demo,
    said,
    curls,
    follow: all.find(isEndless) ?? '',
    exports,
    base: /base {4}(\S+)/.exec(said)![1]!
  }
}

t.test('what it prints works when pasted, and it remembers over kill -9', async (t) => {
  const env = { DATA_DIR: t.testdir() }
  const first = await startDemo(t, { ...env, CHROMIUM_PATH: '/none' })
  t.match(first.said, /^ {2}scout {3}No browser: .*chromium-headless-shell.*$/m)
  t.notMatch(first.curls.join('\n'), 'scout', 'nothing to try needs Chromium')
  const [run = '', stream = '', ...lists] = first.curls
  const answer = JSON.parse((await bash(run)).stdout) as { text: string; toolCalls: unknown[] }
  t.match(answer.text, /Last-Event-ID/)
  t.ok(answer.toolCalls.length > 0)
  const killed = once(first.demo, 'exit')
  first.demo.kill('SIGKILL')
  await killed

  const second = await startDemo(t, env)
  const other = spawn('bash', ['-c', `exec ${second.follow}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => other.kill())
  const { stdout } = await bash(second.curls[1] ?? stream)
  const parts = partsOf(stdout)
  let followed = ''
  for await (const chunk of other.stdout) {
    followed += String(chunk)
    if (followed.includes('"type":"finish"')) break
  }
  t.strictSame(
    partsOf(followed).map(({ runId: _, ...part }) => part),
    parts.map(({ runId: _, ...part }) => part),
    'both terminals see the same'
  )
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  t.match(text, /How do I resume a stream\?/, 'the question of before the kill')
  t.match(text, /84/)
  t.ok(parts.filter(({ type }) => type === 'text').length > 5, 'it is written word by word')
  t.equal(parts.at(-1)?.type, 'finish')
  for (const [index] of lists.entries()) t.ok(JSON.parse(await paste(second.curls[2 + index] ?? '')))

  await t.test(
    'a second demo on the same data is one clear line, and the first does not notice',
    async (t) => {
      const { code, said } = await refusal(t, env)
      t.equal(code, 1)
      t.match(said, /choose another folder with DATA_DIR/)
      t.equal(said.trim().split('\n').length, 1, said)
      t.match(JSON.parse((await bash(second.curls[0] ?? '')).stdout), { finishReason: 'stop' })
    }
  )

  const exited = once(second.demo, 'exit')
  second.demo.kill('SIGTERM')
  t.same(await exited, [0, null])
})

/** What a demo that does not start says, and its exit code. */
async function refusal(t: Ending, env: Record<string, string>): Promise<{ code: unknown; said: string }> {
  const demo = spawnDemo(t, { LOG_LEVEL: 'silent', ...env })
  return { code: await demo.exited, said: demo.said() }
}

interface Said {
  type: string
  runId?: string
  text?: string
}

function partsOf(stream: string): Said[] {
  const lines = stream.split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => JSON.parse(line.slice(6)) as Said)
}

t.test('with DEMO_AUTH=1 it asks for a token, and prints one for each of three roles', async (t) => {
  const { demo, curls, exports, base } = await startDemo(t, { DATA_DIR: t.testdir(), DEMO_AUTH: '1' })
  const answers: string[] = []
  for (const curl of curls) answers.push(await paste(curl, exports))
  t.match(answers[0], /Last-Event-ID/)
  t.strictSame(
    answers.filter((answer) => /"statusCode":|"type":"error"/.test(answer)),
    [],
    'every line works when pasted'
  )
  t.match(
    answers.find((answer) => answer.includes('"approvals"')),
    /delete_note/
  )

  await t.test('the scout answers, keeps a screenshot, and orders', needsChromium, async (t) => {
    const at = curls.findIndex((curl) => curl.includes('/agents/scout/run'))
    const [answer = '', screenshot = '', order = ''] = answers.slice(at)
    t.match(JSON.parse(answer), { text: /^Rain jacket: Size L, Price €94\.00/ })
    const { file, type } = JSON.parse(screenshot) as { file: string; type: string }
    t.equal(type, 'image/jpeg')
    t.strictSame([...readFileSync(file).subarray(0, 3)], [0xff, 0xd8, 0xff])
    const { runId } = JSON.parse(order) as { runId: string }
    const read = (path: string) =>
      bash(`${exports}\ncurl -sN -H "authorization: Bearer $USER_TOKEN" ${base}/runs/${runId}${path}`)
    t.match((await read('/stream')).stdout, /"type":"finish"/)
    t.match(JSON.parse((await read('')).stdout), { result: { text: /^Your order number is HS-/ } })
  })

  const status = async (as: string, path: string, data = '') => {
    const token = as === '' ? '' : `-H "authorization: Bearer $${as}_TOKEN"`
    const { stdout } = await bash(
      `${exports}\ncurl -s -o /dev/null -w '%{http_code}' ${token} ${base}${path} ${data}`
    )
    return Number(stdout)
  }
  const run = `-H 'content-type: application/json' -d '{"input":"Hello"}'`
  t.equal(await status('', '/agents'), 401)
  t.equal(await status('READER', '/agents'), 200)
  t.equal(await status('READER', '/agents/notes/run', run), 403)
  t.equal(await status('USER', '/agents/notes/run', run), 200)
  t.equal(await status('USER', '/admin/runs'), 403)
  t.equal(await status('ADMIN', '/admin/runs'), 200)
  t.equal(await status('', '/docs/spec.json'), 200)

  const exited = once(demo, 'exit')
  demo.kill('SIGTERM')
  await exited
  const next = await startDemo(t, { DATA_DIR: t.testdirName, DEMO_AUTH: '1' })
  const old = `${exports}\ncurl -s -H "authorization: Bearer $ADMIN_TOKEN" ${next.base}/agents`
  t.match((await bash(old)).stdout, /HTTP_ERR_INVALID_TOKEN/, 'another secret, other tokens')
})

t.test('a bad environment is one clear line', async (t) => {
  const bad = [
    { PORT: 'http' },
    { PORT: '70000' },
    { LOG_LEVEL: 'loud' },
    { DEMO_AUTH: 'maybe' },
    { DEMO_SECRET: 'short' }
  ]
  for (const env of bad) t.throws(() => readEnv(env), { message: new RegExp(Object.keys(env)[0]!) })
  const { code, said } = await refusal(t, { DATA_DIR: t.testdirName, ...bad[0] })
  t.equal(code, 1)
  t.match(said, /PORT/)
  t.equal(said.trim().split('\n').length, 1, said)
})
