import t from 'tap'
import { canary } from '../helpers/canary-app.ts'
import { buildKeyApp } from '../helpers/key-app.ts'

for (const where of ['memory', 'sqlite'] as const) {
  t.test(`a key that a caller says too is used, and kept nowhere: ${where}`, async (t) => {
    const { run, stored, events, executed } = await buildKeyApp(t, where)
    const keys: string[] = []
    for (const path of ['agents/user', 'agents/own', 'teams/pair', 'workflows/flow']) {
      const key = canary(path.replace('/', '-'))
      keys.push(key)
      const input = `My key is ${key}.`
      const record = await run(path, key, input)
      t.equal(record.status, 'completed', path)
      t.match(record.inputs, [{ answer: { action: 'accept' } }])
      t.match(JSON.stringify(record.inputs), /My key is \[redacted\]\./)
      t.ok(executed.includes(input), 'what was approved is what is done')
      executed.length = 0
      const again = await run(path, key, input)
      t.equal(again.status, 'completed', `${path}, in a session that has begun`)
      t.strictSame(again.metadata, { note: 'My key is [redacted].' })
      executed.length = 0
      if (path.startsWith('workflows')) continue
      const messages = [{ role: 'user', content: input }]
      const tools = [{ name: 'more', description: input, input: { type: 'object', title: input } }]
      const kept = await run(path, key, input, { messages, instructions: input, tools })
      t.equal(kept.status, 'completed', `${path}, in a conversation that the caller keeps`)
    }
    for (const name of [
      'run.stream.chunk',
      'tool.call',
      'tool.result',
      'tool.approval.request',
      'memory.stored'
    ])
      t.ok(
        events.some((event) => event.startsWith(`${name} `)),
        name
      )
    const found = [...(await stored()), ...events].flatMap((each) => placesOf(keys, each))
    t.strictSame([...new Set(found)], [])
    const chunks = events.filter((event) => event.startsWith('run.stream.chunk '))
    const told = chunks.map((event) => (JSON.parse(event.slice(17)) as { text: string }).text).join('')
    t.strictSame(placesOf(keys, told), [], 'nor in pieces')
    t.match(told, /You said: My key is \[redacted\]\./)
  })
}

/** Where keys are in what was given, each with what is before it. */
function placesOf(keys: readonly string[], given: string): string[] {
  return keys.flatMap((key) => {
    const at = given.indexOf(key)
    return at < 0 ? [] : [given.slice(0, 24) + ' … ' + given.slice(Math.max(0, at - 80), at + 24)]
  })
}
