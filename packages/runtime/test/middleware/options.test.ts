import Fastify from 'fastify'
import runtime, { Agent, guard, type GuardOptions, type Middleware } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { makeAgent } from '../helpers/make-agent.ts'
import { makeTeam } from '../helpers/make-team.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

const allow = (name: string): Middleware => ({ name, beforeRun: () => undefined })

const bad: Record<string, readonly unknown[]> = {
  'a name with a space': [allow('a b')],
  'an empty name': [allow('')],
  'a long name': [allow('a'.repeat(65))],
  'one name twice': [allow('a'), allow('b'), allow('a')],
  'no hook': [{ name: 'a' }],
  'an unknown hook': [{ ...allow('a'), beforeTurn: () => undefined }],
  'a hook that is no function': [{ name: 'a', beforeRun: true }],
  'a hold of no characters': [{ name: 'a', onText: { hold: 0, check: () => undefined } }],
  'a hold of 65,537 characters': [{ name: 'a', onText: { hold: 65_537, check: () => undefined } }],
  'another hold': [{ name: 'a', onText: { hold: 'word', check: () => undefined } }],
  'a check of no text': [{ name: 'a', onText: { hold: 'step', of: [], check: () => undefined } }],
  'a text hook without a check': [{ name: 'a', onText: { hold: 'step' } }],
  'a time-out of 0': [{ ...allow('a'), timeout: 0 }],
  'a text': ['a'],
  null: [null],
  '33 of them': Array.from({ length: 33 }, (_, index) => allow(`a${index}`))
}

for (const [name, list] of Object.entries(bad))
  t.test(`${name} is refused at construction`, async (t) => {
    const use = list as readonly Middleware[]
    const code = { code: 'RUN_ERR_BAD_MIDDLEWARE', statusCode: 500 }
    t.throws(() => makeAgent('x', { use }), { ...code, message: /agent "tester"/ })
    t.throws(() => makeTeam({ mode: 'sequence', members: [makeAgent('x').agent], use }), code)
    t.throws(() => makeWorkflow((flow) => flow.step('a', () => 1), { use }), code)
    const app = Fastify()
    t.teardown(() => app.close())
    await t.rejects(async () => app.register(runtime, { use }), code)
  })

t.test('a list may have 32', async (t) => {
  t.doesNotThrow(() => makeAgent('x', { use: Array.from({ length: 32 }, (_, index) => allow(`a${index}`)) }))
})

t.test('a middleware may be an instance of a class with fields of its own', async (t) => {
  class Limits {
    readonly name = 'limits'
    readonly words = ['bomb']
    beforeRun({ text }: { text: string }) {
      return this.words.includes(text) ? ({ action: 'block' } as const) : undefined
    }
  }
  const { agent } = makeAgent('Sure', { use: [new Limits()] })
  await t.rejects(agent.run('bomb'), { code: 'RUN_ERR_BLOCKED' })
  t.equal((await agent.run('Hi')).text, 'Sure')
})

const badGuards: Record<string, object> = {
  'without points': { on: [] },
  'of an unknown point': { on: ['inputs'] },
  'of a point twice': { on: ['input', 'input'] },
  'without a check': { check: undefined },
  'of another hold': { on: ['output'], hold: 'line' },
  'of another mode': { mode: 'off' },
  'with an unknown option': { holds: 1 }
}

for (const [name, options] of Object.entries(badGuards))
  t.test(`a guard ${name} is refused`, async (t) => {
    const all = { name: 'g', on: ['input'], check: () => undefined, ...options } as GuardOptions
    t.throws(() => guard(all), { code: 'RUN_ERR_BAD_MIDDLEWARE' })
  })

t.test('the list of the app is around all its runs, outside those of agents', async (t) => {
  const order: string[] = []
  const note = (name: string): Middleware => ({ name, beforeRun: () => void order.push(name) })
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(runtime, { use: [note('app')] })
  await app.ready()
  const agent = new Agent({ name: 'a', model: scriptedModel('Sure'), register: false, use: [note('own')] })
  const run = await app.runs.start(agent, 'Hi')
  t.equal((await run.result()).text, 'Sure')
  const plain = await app.runs.start(makeTeam({ mode: 'sequence', members: [agent] }), 'Hi')
  await plain.result()
  t.same(order, ['app', 'own', 'app', 'own'], 'once for a team and its members')
})
