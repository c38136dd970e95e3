import { estimateTokens } from '@svc/runtime'
import t from 'tap'

const user = (...content: object[]) => ({ role: 'user', content }) as never
const text = (value: string) => ({ type: 'text', text: value })
const file = (mediaType: string, data: object) => ({ type: 'file', mediaType, data })

t.test('a text counts its bytes / 3, a picture 1,600, a file its bytes / 30', async (t) => {
  t.equal(estimateTokens([{ role: 'system', content: 'abcd' }]), 2)
  t.equal(estimateTokens([user(text('€€€'))]), 3)
  const bytes = new Uint8Array(3_000)
  t.equal(estimateTokens([user(file('application/pdf', { type: 'data', data: bytes }))]), 100)
  const base64 = Buffer.from(bytes).toString('base64')
  t.equal(estimateTokens([user(file('application/pdf', { type: 'data', data: base64 }))]), 100)
  t.equal(estimateTokens([user(file('image/png', { type: 'data', data: bytes }))]), 1_600)
  t.equal(estimateTokens([user(file('audio/mp3', { type: 'url', url: new URL('https://a.b') }))]), 1_600)
})

t.test('calls, results and tools count as JSON', async (t) => {
  const call = { type: 'tool-call', toolCallId: 'c', toolName: 'abc', input: { a: 1 } }
  t.equal(estimateTokens([{ role: 'assistant', content: [call] } as never]), 1 + 3)
  const resultOf = (output: object) =>
    estimateTokens([
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'abc', output }] } as never
    ])
  t.equal(resultOf({ type: 'text', value: 'abcdef' }), 1 + 2)
  t.equal(resultOf({ type: 'json', value: [1, 2] }), 1 + 2)
  t.equal(resultOf({ type: 'json', value: 'abcdef' }), 1 + 2)
  t.equal(resultOf({ type: 'execution-denied' }), 1)
  const picture = file('image/png', { type: 'data', data: 'aGk=' })
  t.equal(resultOf({ type: 'content', value: [text('abc'), picture] }), 1 + 1 + 1_600)
  const tools = [{ type: 'function', name: 'a', inputSchema: {} }] as never
  t.equal(estimateTokens([], { tools }), Math.ceil(JSON.stringify(tools).length / 3))
})

t.test('a function of the app counts texts; what is no count does not count', async (t) => {
  const prompt = [user(text('four words stand here'))]
  t.equal(estimateTokens(prompt, { countTokens: (given) => given.split(' ').length }), 4)
  const fail = () => {
    throw new Error('no tokens')
  }
  for (const countTokens of [() => NaN, () => -1, () => Infinity, () => '7' as never, fail])
    t.equal(estimateTokens(prompt, { countTokens }), 7)
})
