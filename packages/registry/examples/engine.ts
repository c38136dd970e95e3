import { createRegistry, createRunEngine } from '@svc/registry'

const registry = createRegistry()
const echo = registry.add({
  kind: 'agent',
  name: 'echo',
  async *stream(input) {
    for (const word of String(input).split(' ')) yield { type: 'text', text: `${word} ` }
  }
})

const runs = createRunEngine()
const run = await runs.start(echo, 'one run, every wire', { sessionId: 'first' })
for await (const part of run.parts()) console.log(JSON.stringify(part))
console.log((await run.result()).text)
await runs.close()
