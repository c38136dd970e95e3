import t from 'tap'
import { streamWords } from '../../../src/models/offline/stream-words.ts'

async function collect(text: string, delay = 0): Promise<string[]> {
  const increments: string[] = []
  for await (const increment of streamWords(text, { delay })) increments.push(increment)
  return increments
}

t.test('a text comes word by word, and whole', async (t) => {
  t.strictSame(await collect('one two'), ['one', ' two'])
  for (const text of ['', '  a\n\n- b  c\n', 'x', '```sh\ncurl -N\n```', ' ', 'é 日本 👍🏽 end'])
    t.equal((await collect(text)).join(''), text, JSON.stringify(text))
})

t.test('a long text comes in a bounded number of increments', async (t) => {
  const text = 'word '.repeat(10_000)
  const increments = await collect(text)
  t.ok(increments.length <= 400)
  t.equal(increments.join(''), text)
})

t.test('it takes its time, and ends at once when it is aborted', async (t) => {
  const before = performance.now()
  await collect('a b c', 10)
  t.ok(performance.now() - before >= 25)

  const controller = new AbortController()
  const reason = new Error('enough')
  const words = streamWords('a b c', { delay: 60_000, signal: controller.signal })
  const next = words.next()
  controller.abort(reason)
  await t.rejects(next, reason)
})
