import Fastify from 'fastify'
import { createRequire } from 'node:module'
import { fork } from 'node:child_process'
import http from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
const [, , mode, n = '20000'] = process.argv
const ANSWER = 'The quick brown fox jumps over the lazy dog, and the dog does not mind at all.'
if (mode === 'load') {
  const autocannon = createRequire('/work/main/package.json')('autocannon')
  const [url, path, amount] = process.argv.slice(3)
  const r = await autocannon({ url: url + path, method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ input: 'What does the fox do?' }), connections: 20, amount: Number(amount) })
  process.send!({ ok: r['2xx'], non: r.non2xx, rps: r.requests.average, p99: r.latency.p99 })
  process.exit()
}
const app = Fastify()
let path = '/run'
if (mode === 'bare') {
  const result = { text: ANSWER, toolCalls: [], usage: { promptTokens: 10, completionTokens: 20, totalTokens: 30 }, structured: null, durationMs: 0.123, runId: 'f47ac10b-58cc-4372-a567-0e02b2c3d479', sessionId: '9b2e8f6a-3c5d-4e7f-8a9b-0c1d2e3f4a5b', finishReason: 'stop' }
  app.post('/run', async () => result)
} else {
  const r = createRegistry()
  r.add({ kind: 'agent', name: 'quick', async *stream() { yield { type: 'text', text: ANSWER }; yield { type: 'finish', finishReason: 'stop', usage: { promptTokens: 10, completionTokens: 20, totalTokens: 30 } } } })
  await app.register(registry, { registry: r })
  await app.register(http, { prefix: '/api' })
  path = '/api/agents/quick/run'
  if (mode === 'engine') { app.post('/run', async (q: any) => (await app.runs.start(r.get('agent','quick')!, q.body.input)).result()); path = '/run' }
}
const url = await app.listen({ port: 0, host: '127.0.0.1' })
const load = (amount: string) => new Promise<any>((res) => { const c = fork(import.meta.filename, ['load', url, path, amount], { execArgv: ['--conditions=@svc/source'] }); c.once('message', res) })
await load('10000')
const out: number[] = []
for (let i = 0; i < 4; i++) {
  const a = process.cpuUsage(); const r = await load(n); const b = process.cpuUsage(a)
  out.push((b.user + b.system) / Number(n)); if (r.non) console.log('non2xx', r.non)
}
console.log(mode, out.map((x) => x.toFixed(1)).join(' '), 'median', out.sort((a,b)=>a-b)[1]!.toFixed(1))
process.exit()
