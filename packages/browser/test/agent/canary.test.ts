import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { InMemorySpanExporter, BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createEventBus, createRunEngine } from '@svc/registry'
import { EVENT_SCHEMAS, traceEvents, type RuntimeEvents } from '@svc/runtime'
import { BrowserAgent, chromium, risky } from '@svc/browser'
import { scriptedModel } from '@svc/runtime/testing'
import { createStore } from '@svc/store'
import t from 'tap'
import { needsChromium } from '../helpers/chromium.ts'
import { resultsIn } from '../helpers/make-browser-agent.ts'

const NAME = 'canary-name-zq7319'
const PASSWORD = 'canary/päss "zq7319"'

/** A login that gives away what it gets: in addresses, titles, texts, dialogs, names of files and scripts. */
function leaky(url: URL): string {
  const [name = '', password = ''] = ['name', 'password'].map((field) => url.searchParams.get(field) ?? '')
  const encoded = [password, encodeURIComponent(password), Buffer.from(`pw:${password}`).toString('base64')]
  const safe = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return `<!doctype html><title>Hello ${safe(name)} ${safe(password)}</title>
    <form><label>Name <input name="name" value="${safe(name)}"></label>
    <label>Password <input name="password" type="password" value="${safe(password)}"></label>
    <button>Log in</button></form>
    <button type="button" onclick="document.querySelector('[name=password]').type = 'text'">Show</button>
    <button type="button" onclick="alert(document.querySelector('[name=password]').value)">Alert</button>
    <p aria-label="${safe(password)}">${encoded.map(safe).join(' ')}</p>
    <a download="${safe(password)}.txt" href="data:text/plain,${encodeURIComponent(password)}">File</a>`
}

t.test('secrets of a run in a real browser stand nowhere', needsChromium, async (t) => {
  const seen: string[] = []
  const server = createServer((request, reply) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    seen.push(url.searchParams.get('password') ?? '')
    reply.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(leaky(url))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const browser = chromium({ sandbox: false })
  const folder = t.testdir()
  const logged: unknown[] = []
  const write = (...line: unknown[]) => void logged.push(line)
  const log = { debug: write, info: write, warn: write, error: write }
  const store = await createStore({ url: `sqlite:${join(folder, 'app.db')}` }, log)
  const bus = createEventBus(log)
  const events: unknown[] = []
  for (const name of Object.keys(EVENT_SCHEMAS) as (keyof RuntimeEvents)[])
    bus.on(name, (event) => void events.push(event))
  const spans = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
  t.teardown(await traceEvents(bus, { tracerProvider }))
  const engine = createRunEngine({ stores: store, events: bus, log })
  t.teardown(async () => {
    await engine.close()
    await store.close()
    await browser.close()
    server.closeAllConnections()
    server.close()
  })

  const acts: ((refOf: (name: string) => string) => [string, object])[] = [
    () => ['open', { url: `http://${host}/` }],
    (refOf) => ['type', { ref: refOf('Name'), text: '{{NAME}}' }],
    (refOf) => ['type', { ref: refOf('Password'), text: '{{PASSWORD}}' }],
    () => ['screenshot', {}],
    (refOf) => ['click', { ref: refOf('Log in') }],
    (refOf) => ['click', { ref: refOf('Show') }],
    () => ['read', {}],
    () => ['find', { text: 'canary' }],
    () => ['screenshot', {}],
    (refOf) => ['click', { ref: refOf('Alert') }],
    () => ['dialog', { accept: true }],
    (refOf) => ['click', { ref: refOf('File') }],
    () => ['click', { ref: 'e9999' }]
  ]
  const model = scriptedModel(({ prompt }, index) => {
    const text = resultsIn(prompt).join('\n')
    const refOf = (name: string) =>
      [...text.matchAll(new RegExp(`"${name}"[^\\n]*? \\[ref=(\\w+)\\]`, 'g'))].at(-1)?.[1] ?? 'e0'
    const next = acts[index]?.(refOf)
    if (next === undefined) return 'Done.'
    return { toolCalls: [{ toolName: `browser_${next[0]}`, args: next[1], toolCallId: `c${index}` }] }
  })
  const agent = new BrowserAgent({
    name: 'canary',
    register: false,
    model,
    allow: [],
    privateHosts: [host],
    browser,
    secrets: { NAME: { value: NAME, hosts: [host] }, PASSWORD: { value: PASSWORD, hosts: [host] } },
    approval: risky(['submit']),
    files: { downloads: { types: ['text/plain'] } },
    screenshots: 'steps'
  })
  const run = await engine.start(agent, 'Log in')
  const parts: unknown[] = []
  for await (const part of run.parts()) {
    parts.push(part)
    if (part.type === 'tool.approval.request') await engine.answer(part.approvalId, { approved: true })
  }
  const result = await run.result()
  t.equal(result.text, 'Done.')
  t.ok(seen.includes(PASSWORD), 'the site got it')
  t.strictSame(
    result.toolCalls
      .map(({ error }) => error?.code)
      .filter((code) => code !== undefined && code !== 'RUN_ERR_BROWSER_ACTION_FAILED'),
    ['RUN_ERR_BROWSER_STALE_REF']
  )
  await engine.close()
  await store.close()

  const canaries = [
    NAME,
    'zq7319',
    encodeURIComponent(PASSWORD),
    Buffer.from(PASSWORD).toString('base64').slice(4, 20)
  ]
  const left = {
    parts,
    events,
    logged,
    result,
    prompts: model.calls.map(({ prompt }) => prompt),
    spans: spans
      .getFinishedSpans()
      .map(({ name, attributes, events: noted }) => ({ name, attributes, noted }))
  }
  for (const [what, value] of Object.entries(left))
    for (const canary of canaries) t.notOk(JSON.stringify(value).includes(canary), `${canary} in ${what}`)
  t.ok(left.spans.some(({ attributes }) => attributes['svc.browser.action'] === 'type'))
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile()
  )
  t.ok(files.length > 1)
  for (const file of files)
    for (const canary of canaries)
      t.notOk(readFileSync(join(file.parentPath, file.name)).includes(canary), `${canary} in ${file.name}`)
})
