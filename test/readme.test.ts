import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { freePort } from '@tools/postgres'
import t, { type Test } from 'tap'
import { codeBlocks, compile, curlsOf, installsOf, isWhole, type CodeBlock } from './helpers/code-blocks.ts'
import { runPrograms } from './helpers/programs.ts'
import { startResponsesServer } from './helpers/responses-server.ts'
import { start, untilUp } from './helpers/shell.ts'

const ROOT = resolve(import.meta.dirname, '..')
const DOCUMENTS = globSync(['README.md', 'docs/*.md', 'packages/*/README.md'], { cwd: ROOT }).toSorted(
  (a, b) => a.localeCompare(b)
)
// The documented output of programs, and responses to commands.
const PRINTED: Readonly<Record<string, RegExp>> = {
  'docs/a2a.md#2':
    /^\{"alg":"ES256","typ":"JOSE","kid":"2026-11","jku":"https:\/\/agents\.example\.org\/jwks\.json"\}\n$/,
  'docs/agents.md#5': /^5\.00\n$/,
  'docs/agents.md#6': /^search, hand_over stop\n$/,
  'docs/agents.md#9': /^\{ city: 'Rome', days: 3 \}\n$/,
  'docs/agents.md#10': /^so far \{ city: 'Ro.*whole \{ city: 'Rome', days: 3 \}\n$/s,
  'docs/agents.md#11': /^4\.0\n$/,
  'docs/agents.md#12': /^You are Ada\.$/,
  'docs/agents.md#13': /^An old pond, a frog\.stop 12\n$/,
  'docs/browser.md#1': /^guarded \d+\n$/,
  'docs/console.md#1': /^200 true\n$/,
  'docs/from-other-frameworks.md#1': /^Take a hat\.\n$/,
  'docs/from-other-frameworks.md#2': /^Once upon a time\.13\n$/,
  'docs/from-other-frameworks.md#3': /^Bees, for the world\n$/,
  'docs/from-other-frameworks.md#4': /^Ada\.\n$/,
  'docs/http.md#2': /^401 200\n$/,
  'docs/agents-api.md#1': /^Where is it, you ask\?\n$/,
  'docs/managed-agents.md#1': /^Where is it, you ask\?\n$/,
  'packages/openai/README.md#1': /^Hello\n$/,
  'packages/console/README.md#1': /^200 text\/html; charset=utf-8\n$/,
  'packages/realtime/README.md#1': /^Hello\n$/,
  'packages/contract/README.md#1': /^weather No weather for "Atlantis"\n$/,
  'packages/testing/README.md#1': /^hello\n$/,
  'docs/your-own-wire.md#1':
    /^\{"say":"Hello"\}\n\{"end":"stop"\}\n\n\{"problem":"No agent \\"unknown\\"","code":"LINES_ERR_UNKNOWN_RUNNABLE"\}\n$/,
  'packages/mcp/README.md#1': /^200 true\n$/,
  'packages/ui-stream/README.md#1': /^v1 true\n$/,
  'packages/anthropic/README.md#1': /^\[ \{ type: 'text', text: 'Hello' \} \]\n$/,
  'packages/ag-ui/README.md#1': /^Hello\n$/,
  'packages/registry/README.md#1': /"type":"start"[^]*"type":"finish"[^]*\none run, every wire \n$/,
  'packages/runtime/README.md#1': /^It is 42\.$/,
  'packages/runtime/README.md#3': /^\{ city: 'Rome' \}\n$/,
  'packages/runtime/README.md#4': /^\{ result: 50 \}\n$/,
  'packages/runtime/README.md#5': /^true\n$/,
  'packages/runtime/README.md#6': /^\{ name: 'haiku', instructions: 'Lines of 5, 7 and 5 syllables\.' \}\n$/,
  'packages/runtime/README.md#7': /^\[ 'researcher' \]\n\[ 'writer' \]\nthe answer\n$/,
  'packages/runtime/README.md#8': /^ADA has 3 letters\n$/,
  'packages/runtime/README.md#9': /^It is 42\. 1\n$/,
  'docs/context.md#1': /<situation>\\nIt is 2\d{3}-/,
  'docs/memory.md#1': /^true\n$/,
  'docs/multi-modal.md#1': /^A dot\.\n$/,
  'docs/multi-modal.md#2': /\bfileId: '[\da-f-]{36}'/,
  'docs/multi-modal.md#3': /^<svg\n$/,
  'docs/multi-modal.md#4': /^week\.csv 18 call-1\nchart\.gif \d+ call-1\n$/,
  'docs/observability.md#1': /^greeter stop\n$/,
  'docs/runs.md#1': /^One shirt in L\.\n$/,
  'docs/runs.md#2': /^Delivered\.\n$/,
  'docs/runs.md#3': /^sales 200\nsupport 404\n$/,
  'docs/sandbox.md#3': /^true\n$/,
  'docs/deletion.md#1': /^\{ runs: 1, memories: 0, shared: 0, forks: 0 \} undefined\n$/,
  'docs/sessions.md#1': /^reject\n$/,
  'docs/schedules.md#1': /^0 9 \* \* MON-FRI true true\n$/,
  'docs/webhooks.md#1': /^run\.completed echo\n$/,
  'docs/skills.md#2': /^\[ \{ name: 'greet', description: 'Greets someone\.' \} \]\n$/,
  'docs/teams.md#2': /^ada: 7 points, bob: 9 points 16\n$/,
  'docs/voice.md#3': /^It is sunny\. audio\/wav\n$/,
  'docs/workflows.md#1': /^2 items, 36\.00 in all\n$/,
  'docs/workflows.md#2': /^good: true\n$/,
  'docs/workflows.md#3': /^About bees, published: true\n$/
}
const ANSWERED: readonly (readonly [command: RegExp, answer: RegExp])[] = [
  [/What is 2 \+ 3\?/, /"text":"It is 5\."/],
  [/(?:Tell me|Write) a story/, /"type":"text","at":\d+,"text":"Once [^]*"type":"finish"/],
  [/echo\/run/, /"text":"You said: Hello"/],
  [
    /echo\/stream/,
    /^data: \{"seq":1,"type":"start"[^]*"type":"text","at":\d+,"text":"You said: Hello"[^]*"type":"finish"/
  ],
  [/run .*What is a run\?/, /"text":"A run is one execution[^]*"toolCalls":\[\{/],
  [/stream .*What is a run\?/, /"type":"finish"/],
  [/\/inputs$/, /^\{"inputs":\[\],"nextCursor":null\}$/],
  [/\/approvals$/, /^\{"approvals":\[\],"nextCursor":null\}$/],
  [/order-17/, /"text":"/],
  [/teams\/desk/, /"text":"[^"]*42/],
  [/respond-async/, /"status":"(?:submitted|working)"/],
  [/-X PATCH .*\/assistant\/desk/, /"title":"The front desk",.*"customer":"c-17"/],
  [/"customer":"c-17"/, /"text":"3 \+ 3 = 6"/],
  [/What is 4 \+ 4/, /"text":"4 \+ 4 = 8"/],
  [/metadata\[customer\]/, /"metadata":\{"customer":"c-17"\}/],
  [/wait=5/, /"text":"2 \+ 2 = 4"/],
  [/What did I ask you before/, /"text":"/],
  [/Last-Event-ID/, /^data: /],
  [/"cron":"0 9 1 1 \*"/, /"nextAt":"\d{4}-01-01T08:00:00\.000Z"/],
  [/"whenBusy":"reject"/, /^\{"text":"Hello!/],
  [/"afterTurn":null/, /^\{"text":"Hello!/],
  [/\/fork/, /^\{"sessionId":"/],
  [/\/api\/sessions\?limit=5$/, /^\{"sessions":\[\{"sessionId":/],
  [/"sessionId":"desk"\}'$/, /"sessionId":"desk"/],
  [/\/assistant\/desk$/, /"title":"Hello",.*"lastEventId":"2\.0"/],
  [/\/desk\/stream\?after=0\.0/, /"type":"start".*\nid: 1\.1\n\ndata: \{"runId":"\w+","seq":2,/],
  [/\/api\/schedules$/, /^\{"schedules":\[\{"scheduleId":/],
  [/\/cancel/, /"status":"canceled"/],
  [/since=/, /^\{"runs":\[/],
  [/status=completed/, /"status":"completed"/],
  [/\/api\/agents$/, /"assistant"/],
  [/asyncapi\.json$/, /"asyncapi":"3\.0\.0"/],
  [/well-known/, /"skills":\[\{/],
  [/message\/send/, /"status":\{"state":"completed"/],
  [/message\/stream/, /"state":"completed".*"final":true/],
  [/message:send/, /TASK_STATE_COMPLETED/],
  [/\/a2a\/tasks/, /"nextPageToken":/]
]

/** Blocks with imports that use names which the text around them explains. */
const FRAGMENTS = [
  'docs/mcp.md#1',
  'docs/scale.md#1',
  'docs/scale.md#2',
  'docs/storage.md#1',
  'docs/storage.md#2',
  'packages/mcp/README.md#2',
  'packages/registry/README.md#2',
  'README.md#2'
]

// Starts a process for each program, which takes long on a busy machine.
t.setTimeout(400_000)

// The documents install the dependencies of the demo, all our packages and Zod.
const installed = ['apps/demo', 'packages/runtime'].map((name) => resolve(ROOT, name, 'node_modules'))
const linked = [
  ...readdirSync(installed[0]!).map((name) => resolve(installed[0]!, name)),
  resolve(installed[1]!, 'zod'),
  resolve(ROOT, 'node_modules/@svc')
]
const modulesOf = (test: Test) =>
  Object.fromEntries(linked.map((path) => [basename(path), test.fixture('symlink', path)]))
const folder = t.testdir({ node_modules: modulesOf(t) })
const compiled = await compile(codeBlocks(DOCUMENTS), folder)
const programs = [...compiled].filter(([block, errors]) => isWhole(block, errors)).map(([block]) => block)
const { baseUrl } = await startResponsesServer(t)
const env = { OPENAI_API_KEY: 'sk-none', OPENAI_BASE_URL: baseUrl }

t.test('the README packs all packages that its own need', async (t) => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const packed = /^for name in ([\w -]+); do/m.exec(readme)![1]!.split(' ')
  for (const name of packed) {
    const manifest = readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8')
    const { dependencies = {} } = JSON.parse(manifest) as { dependencies?: Record<string, string> }
    for (const needed of Object.keys(dependencies))
      if (needed.startsWith('@svc/')) t.ok(packed.includes(needed.slice(5)), `${name} needs ${needed}`)
  }
})

t.test('complete programs compile', async (t) => {
  for (const program of programs) t.strictSame(compiled.get(program), [], program.id)
  const imports = [...compiled.keys()].filter(({ code }) => /^import /m.test(code))
  t.strictSame(
    imports.filter((block) => !programs.includes(block)).map(({ id }) => id),
    FRAGMENTS,
    'every other block with imports is a program'
  )
})

t.test('a document installs the imports of its programs', async (t) => {
  for (const { id, document, code } of programs) {
    const installed = installsOf(document)
    if (installed.length === 0) continue
    for (const [, name = ''] of code.matchAll(/ from '(?!node:)((?:@[^/']+\/)?[^/']+)/g))
      t.ok(installed.includes(name), `${id}: ${name}`)
  }
})

// Of the services, those with a documented output end by themselves.
const runsToItsEnd = ({ id, code }: CodeBlock) => id in PRINTED || !code.includes('.listen(')

// What the process keeps of such a program would reach the next.
const changesProcess = ({ code }: CodeBlock) =>
  /node:diagnostics_channel|process\.(?:on|once|exit)\b/.test(code)

t.test('programs run to their ends', async (t) => {
  const ending = programs.filter(runsToItsEnd)
  const folders = ending.map(({ file, code }) => [
    file,
    { 'program.ts': code.replace('port: 3000', 'port: 0') }
  ])
  const cwd = t.testdir({ ...Object.fromEntries(folders), ...project(t) })
  const together = ending.filter((program) => !changesProcess(program))
  for (const group of [together, ...ending.filter(changesProcess).map((program) => [program])]) {
    const files = group.map(({ file }) => join(cwd, file, 'program.ts'))
    const ends = await runPrograms(t, files, { cwd, env })
    for (const [index, { id }] of group.entries())
      await t.test(id, async (t) => {
        const { file, code, stdout, stderr } = ends[index]!
        t.equal(file, files[index])
        t.equal(code, 0, stderr)
        t.equal(stderr, '')
        t.match(stdout, PRINTED[id] ?? /^$/)
      })
  }
})

for (const program of programs.filter((each) => !runsToItsEnd(each)))
  t.test(`${program.id} serves, and the commands of its document work`, async (t) => {
    const port = await freePort()
    const running = run(t, program.code.replace('port: 3000', `port: ${port}`))
    await untilUp(`http://localhost:${port}/api`, running)
    if (!program.document.startsWith('docs/')) await pasteAll(t, program.document, port)
    running.child.kill('SIGTERM')
    await running.ended
    t.equal(running.output.stderr, '')
  })

t.test('the commands in docs work on the demo', async (t) => {
  const port = await freePort()
  // The directory of the test is recreated for each document.
  const data = mkdtempSync(join(tmpdir(), 'readme-demo-'))
  t.teardown(() => rmSync(data, { recursive: true, force: true }))
  const demo = start(t, [process.execPath, '--conditions=@svc/source', 'apps/demo/src/main.ts'], {
    cwd: ROOT,
    env: { PORT: String(port), DATA_DIR: data, OFFLINE_DELAY: '10' }
  })
  await untilUp(`http://localhost:${port}/api`, demo)
  for (const document of DOCUMENTS.filter((path) => path.startsWith('docs/')))
    await pasteAll(t, document, port)
})

// As the documents create it.
const project = (test: Test) => ({ 'package.json': '{"type":"module"}', node_modules: modulesOf(test) })

function run(t: Test, code: string) {
  const cwd = t.testdir({ 'program.ts': code, ...project(t) })
  return start(t, [process.execPath, '--conditions=@svc/source', '--no-warnings', 'program.ts'], { cwd, env })
}

// Runs commands as a user would, line by line in a shell, with the id of a new run if one is needed.
async function pasteAll(t: Test, document: string, port: number): Promise<void> {
  const home = t.testdir({ '.curlrc': 'silent\nfail-with-body\nmax-time = 20\n' })
  for (const curl of curlsOf(document)) {
    const command = curl.replaceAll(/(localhost|127\.0\.0\.1):3000/g, `$1:${port}`)
    const runId = command.includes('$RUN_ID') ? await beginRun(port) : ''
    const { output, ended } = start(t, ['bash', '-c', command], {
      cwd: ROOT,
      env: { CURL_HOME: home, RUN_ID: runId }
    })
    t.equal(await ended, 0, `${document}: ${curl}\n${output.stdout}`)
    const expected = ANSWERED.find(([pattern]) => pattern.test(curl))
    t.match(output.stdout, expected?.[1] ?? 'no answer is known', `${document}: ${curl}`)
  }
}

async function beginRun(port: number): Promise<string> {
  const base = `http://localhost:${port}/api`
  const { agents } = (await (await fetch(`${base}/registry`)).json()) as { agents: string[] }
  const response = await fetch(`${base}/agents/${agents[0]}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'What is a run?', onDisconnect: 'continue' })
  })
  // The documents resume a stream after part 12, so that part must exist.
  let received = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    received += chunk
    if (received.includes('\nid: 12\n')) break
  }
  return response.headers.get('x-run-id') ?? ''
}
