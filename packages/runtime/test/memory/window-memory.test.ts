import { createInProcessStores } from '@svc/registry'
import { windowMemory } from '@svc/runtime'
import t from 'tap'
import { settleMemories } from '../../src/memory/run-memory.ts'
import { makeAgent, makeContext } from '../helpers/make-agent.ts'

const ann = { principal: { sub: 'ann', scopes: [] } }
const systemOf = (model: ReturnType<typeof makeAgent>['model']) =>
  model.calls.at(-1)?.prompt[0]?.content as string

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
  t.match(systemOf(model), /User: Two\nAssistant: Ok\.\nUser: Three/)
  t.notMatch(systemOf(model), 'One')
  await say('Again?', 'd')
  t.notMatch(systemOf(model), 'Now?', 'those of the session itself are its history')
  await say('Hi', 'e', { principal: { sub: 'bob', scopes: [] } })
  t.equal(systemOf(model).includes('Two') || systemOf(model).includes('Again'), false)
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
