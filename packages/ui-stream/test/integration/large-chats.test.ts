import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { chatApp } from '../helpers/chat-app.ts'

const text = 'x'.repeat(400_000)

interface Page {
  messages: { id: string; role: string; parts: { type: string; text?: string }[] }[]
  nextCursor: string | null
}

void t.test('a page of a chat ends before it is large', async (t) => {
  const model = scriptedModel({ text: [text] }, { record: false })
  const agent = new Agent({ name: 'writer', model, register: false })
  const { api, runs, app } = await chatApp(t, { add: (registry) => registry.add(agent) })
  const made: string[] = []
  for (let turn = 0; turn < 5; turn++) {
    const run = await runs.start(agent, `Turn ${turn}`, { sessionId: 'c' })
    await run.result()
    made.push(run.runId)
  }
  const read = async (query: string) =>
    (await (await fetch(`${api('writer')}/c?limit=1000${query}`)).json()) as Page
  const pages: Page[] = []
  for (let before = ''; pages.length < 9;) {
    const page = await read(before)
    pages.unshift(page)
    if (page.nextCursor === null) break
    before = `&before=${page.nextCursor}`
  }
  for (const { messages } of pages) t.ok(messages.length <= 2 * 2, 'two turns at most')
  const answers = pages.flatMap(({ messages }) => messages.filter(({ role }) => role === 'assistant'))
  t.same(
    answers.map(({ id }) => id),
    made,
    'all turns, each once'
  )
  for (const { parts } of answers) t.equal(parts.findLast(({ type }) => type === 'text')?.text, text)

  const waiting = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const next = scriptedModel(() => ({ text: 'Now.' }), { record: false })
  const { doStream } = next
  next.doStream = async (options) => {
    begun.resolve()
    await waiting.promise
    return doStream(options)
  }
  const other = new Agent({ name: 'writer', model: next, register: false })
  app.registry.add(other, { replace: true })
  const active = await runs.start(other, 'Turn 5', { sessionId: 'c' })
  await begun.promise
  const page = await read('')
  t.equal(page.messages.at(-1)?.id.startsWith(active.runId), true, 'the run under way is on the newest page')
  t.ok(page.nextCursor)
  waiting.resolve()
  await active.result()
})
