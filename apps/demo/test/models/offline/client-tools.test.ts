import t from 'tap'
import { answerByClientTool } from '../../../src/models/offline/client-tools.ts'

const tool = (name: string) => ({ type: 'function' as const, name, inputSchema: {} })
const conversation = (message: string, outcomes: object[] = []) =>
  ({ turns: [], message, files: 0, said: '', outcomes }) as Parameters<typeof answerByClientTool>[0]

t.test('calls the tool that the message mentions, and says what it gave', async (t) => {
  const tools = [tool('calculate'), tool('stock'), tool('shopping_list')]
  const message = 'What is on my shopping list?'
  const call = { toolName: 'shopping_list', args: {} }
  const ask = (...outcomes: object[]) => answerByClientTool(conversation(message, outcomes), tools)
  t.same(ask(), { calls: [call] })
  t.same(ask({ ...call, result: 'milk' }), { answer: 'Your shopping_list says: milk' })
  t.same(ask({ ...call, result: ['milk'] }), { answer: 'Your shopping_list says: ["milk"]' })
  t.match(ask({ ...call, error: 'The client declined' }), { answer: /The client declined$/ })
})

t.test('leaves every other message to the agent', async (t) => {
  t.equal(
    answerByClientTool(conversation('How do I calculate?'), [tool('calculate')]),
    undefined,
    'not a client’s'
  )
  t.equal(answerByClientTool(conversation('Hello'), [tool('shopping_list')]), undefined)
  t.equal(answerByClientTool(conversation('Hello')), undefined)
})
