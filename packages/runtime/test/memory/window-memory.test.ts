import { createInProcessStores } from '@svc/registry'
import { windowMemory } from '@svc/runtime'
import t from 'tap'
import { settleMemories } from '../../src/memory/run-memory.ts'
import { makeAgent, makeContext } from '../helpers/make-agent.ts'

const ann = { principal: { sub: 'ann', scopes: [] } }
const memoryIn = (model: ReturnType<typeof makeAgent>['model']) => {
  const message = model.calls.at(-1)?.prompt.at(-1)
  const last = message?.role === 'user' ? message.content.at(-1) : undefined
  return last?.type === 'text' && last.text.startsWith('<situation>') ? last.text : ''
}

t.test('the prompt includes the last turns of other sessions, oldest first', async (t) => {
  const stores = createInProcessStores()
  const { agent, model } = makeAgent('Ok.', { memory: windowMemory({ turns: 2 }) })
  const say = async (input: string, sessionId: string, of: object = ann) => {
    await agent.run(input, makeContext({ stores, sessionId, ...of }).context)
    await settleMemories(1_000)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await say('One', 'a')
  await say('Two', 'b')
  await say('Three', 'c')
  await say('Now?', 'd')
  t.match(memoryIn(model), /User: Two\nAssistant: Ok\.\nUser: Three/)
  t.notMatch(memoryIn(model), 'One')
  await say('Again?', 'd')
  t.notMatch(memoryIn(model), 'Now?', 'those of the session itself are its history')
  await say('Hi', 'e', { principal: { sub: 'bob', scopes: [] } })
  t.notMatch(memoryIn(model), /Two|Again/)
  const left = await stores.memory.list('ann', 'tester/window', 100)
  t.equal(left.length, 2, 'what fell out of the window is forgotten')
})

t.test('options', async (t) => {
  const bad: [object, RegExp][] = [
    [{ turns: 0 }, /windowMemory: turns/],
    [{ turn: 3 }, /windowMemory: turn:/],
    [{ maxCharacters: '9' }, /windowMemory: maxCharacters/]
  ]
  for (const [options, message] of bad)
    t.throws(() => windowMemory(options), { code: 'RUN_ERR_BAD_AGENT', message })
})
