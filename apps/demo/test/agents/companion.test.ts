import { createRunEngine, type RunEngine } from '@svc/registry'
import t from 'tap'
import { createCompanion } from '../../src/agents/companion.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

const companion = await createCompanion(createOfflineModel({ delay: 0 }))

function startEngine(t: { teardown(fn: () => unknown): unknown }) {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const say = async (input: string, userId?: string) =>
    (await engine.start(companion, input, userId === undefined ? {} : { userId })).result()
  return { engine, say }
}

const stored = (engine: RunEngine) =>
  new Promise<void>((resolve) => engine.events.on('memory.stored', () => resolve()))

t.test('remembers what it is told, in every session, and each user apart', async (t) => {
  const { engine, say } = startEngine(t)
  const tell = async (input: string, userId: string) => {
    const done = stored(engine)
    const { text } = await say(input, userId)
    await done
    return text
  }
  t.equal(await tell('My dog is called Rex.', 'ada'), 'I will remember that.')
  await tell('I live in Oslo.', 'ada')
  await tell('My dog is called Bello.', 'grace')
  const first = await say('What is my dog called?', 'ada')
  t.equal(first.text, 'You told me: “My dog is called Rex.”')
  t.equal((await say('Where do I live?', 'ada')).text, 'You told me: “I live in Oslo.”')
  t.equal((await say('What is my dog called?', 'grace')).text, 'You told me: “My dog is called Bello.”')
  t.match((await say('Where do I live?', 'grace')).text, /not told me/)
  t.match((await say('What is my dog called?')).text, /not told me/, 'who is nobody in particular')
  t.match((await say('When does the opera begin?', 'ada')).text, /not told me/)
})

t.test('takes no greeting and no question for a fact', async (t) => {
  const { engine, say } = startEngine(t)
  const kept: unknown[] = []
  engine.events.on('memory.stored', ({ ids }) => kept.push(...ids))
  for (const input of ['My name is Grace.', 'I live in Oslo.']) {
    const done = stored(engine)
    await say(input, 'grace')
    await done
  }
  for (const input of ['Hello!', 'thanks', 'ok']) t.match((await say(input, 'grace')).text, /Tell me/, input)
  t.match((await say('What can you do?', 'grace')).text, /minutes/)
  for (const input of ['Forget my name', 'What do you know about me?', 'Tell me everything you remember'])
    t.match((await say(input, 'grace')).text, /ask for one thing/, input)
  t.equal(kept.length, 2, 'what is no fact is not kept')
})

t.test('writes minutes as its skill has it', async (t) => {
  const { engine, say } = startEngine(t)
  const loaded: string[] = []
  engine.events.on('skill.loaded', ({ skill }) => loaded.push(skill))
  const { text, toolCalls } = await say(
    'Write the minutes: Ada and Grace met. Decided: ship on Friday. Todo: Ada writes the release notes.'
  )
  t.equal(
    text,
    '# Minutes\n\n## Decisions\n\n- ship on Friday.\n\n## Actions\n\n- Ada writes the release notes.\n\n## Notes\n\n- Ada and Grace met.'
  )
  t.same(
    toolCalls.map(({ toolName, args }) => [toolName, args]),
    [
      ['load_skill', { name: 'minutes' }],
      ['load_skill', { name: 'minutes', file: 'template.md' }]
    ]
  )
  t.same(loaded, ['minutes'])
  const short = await say('Minutes of today: Agreed $& to wait!')
  t.equal(short.text, '# Minutes\n\n## Decisions\n\n- $& to wait!')
})
