import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Type } from '@sinclair/typebox'
import http from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import Fastify from 'fastify'

const USAGE = `npm run request-files -- [--list]
Counts the files, and their functions, of our packages that one warm request executes, with stores in memory.

--list  prints the files, and how many of their functions are executed`

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PACKAGES = ['http', 'surface', 'registry', 'runtime', 'contract']
/** The requests before the one that is measured. */
const WARM_UP = 20

const { values } = parseArgs({
  options: { list: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } }
})
if (values.help) {
  console.log(USAGE)
  process.exit()
}

const agents = createRegistry()
const app = Fastify()
await app.register(registry, { registry: agents })
await app.register(http, { prefix: '/api' })
const x = { name: 'x', instructions: 'Be brief.', registry: agents }
new Agent({ ...x, model: scriptedModel(() => ({ text: ['Hello', ' there.'] }), { record: false }) })
const erase = defineTool({
  name: 'erase',
  description: 'Erases everything',
  input: Type.Object({}),
  approval: true,
  execute: () => 'erased'
})
const call = { toolCalls: [{ toolName: 'erase', args: {} }] }
const script = ({ prompt }: { prompt: readonly { role: string }[] }) =>
  prompt.at(-1)?.role === 'tool' ? { text: 'Done.' } : call
new Agent({ ...x, name: 'careful', tools: [erase], model: scriptedModel(script, { record: false }) })
const origin = await app.listen({ port: 0, host: '127.0.0.1' })

/** What is measured: each makes its request ready, and returns what sends it and waits for its end. */
const REQUESTS: Record<string, () => Promise<() => Promise<unknown>>> = {
  run: async () => () => post('agents/x/run', { input: 'Hi' }),
  stream: async () => () => post('agents/x/stream', { input: 'Hi' }),
  approval: async () => {
    const { approvalId, runId } = await askForApproval()
    return async () => {
      const ended = new Promise((resolve) => {
        const unsubscribe = app.events.on('run.complete', (run) => {
          if (run.runId === runId) resolve(unsubscribe())
        })
      })
      await Promise.all([post(`approvals/${approvalId}`, { approved: true }), ended])
    }
  }
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
console.log(toRow(['request', 'all', ...PACKAGES]))
for (const [name, prepare] of Object.entries(REQUESTS)) {
  for (let left = WARM_UP; left > 0; left--) await (await prepare())()
  const send = await prepare()
  await pause(50)
  await takeExecuted()
  await send()
  report(name, await takeExecuted())
}
session.disconnect()
await app.close()

/** How many functions of each file were executed since the last call; those of models for tests are left out. */
async function takeExecuted(): Promise<Map<string, number>> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const executed = new Map<string, number>()
  for (const { url, functions } of result) {
    const file = url.startsWith('file://') ? relative(ROOT, fileURLToPath(url)) : ''
    // The code of a module itself is executed when it is imported.
    const count = functions.filter(({ ranges: [own] }) => own!.count > 0 && own!.startOffset > 0).length
    if (/^packages\/[^/]+\/src\/(?!testing\/)/.test(file) && count > 0) executed.set(file, count)
  }
  return executed
}

function report(name: string, executed: ReadonlyMap<string, number>): void {
  const count = (folder: string) => {
    const counts = [...executed].flatMap(([file, functions]) => (file.startsWith(folder) ? functions : []))
    return `${counts.length} (${counts.reduce((sum, functions) => sum + functions, 0)})`
  }
  console.log(toRow([name, count(''), ...PACKAGES.map((each) => count(`packages/${each}/`))]))
  if (!values.list) return
  for (const file of [...executed.keys()].toSorted()) console.log(`  ${file} (${executed.get(file)})`)
}

function toRow([name, ...columns]: string[]): string {
  return [name!.padEnd(10), ...columns.map((column) => column.padStart(10))].join('')
}

async function askForApproval(): Promise<{ approvalId: string; runId: string }> {
  await post('agents/careful/run', { input: 'Clean up' }, { prefer: 'respond-async' })
  for (let tries = 0; tries < 200; tries++) {
    const response = await fetch(`${origin}/api/approvals`)
    const { approvals } = (await response.json()) as { approvals: { approvalId: string; runId: string }[] }
    if (approvals[0] !== undefined) return approvals[0]
    await pause(5)
  }
  throw new Error('no approval was asked for')
}

async function post(path: string, body: object, headers?: Record<string, string>): Promise<void> {
  const response = await fetch(`${origin}/api/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body)
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
}
