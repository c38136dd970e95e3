import { Type } from '@sinclair/typebox'
import { createRegistry, globalRegistry } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { makeAgent } from '../helpers/make-agent.ts'

const model = scriptedModel('Hello.')
const add = defineTool({
  name: 'add',
  description: 'Adds two numbers',
  input: Type.Object({ a: Type.Number(), b: Type.Number() }),
  execute: ({ a, b }) => a + b
})

t.test('registers itself in the global registry', async (t) => {
  const agent = new Agent({ name: 'global-one', model })
  t.teardown(() => globalRegistry.remove('agent', 'global-one'))
  t.equal(globalRegistry.get('agent', 'global-one'), agent)
  t.throws(() => new Agent({ name: 'global-one', model }), { code: 'REG_ERR_NAME_TAKEN' })
  const second = new Agent({ name: 'global-one', model, replace: true })
  t.equal(globalRegistry.get('agent', 'global-one'), second)
})

t.test('registers itself in the given registry, or nowhere', async (t) => {
  const registry = createRegistry()
  const agent = new Agent({ name: 'mine', model, registry })
  t.equal(registry.get('agent', 'mine'), agent)
  t.equal(globalRegistry.get('agent', 'mine'), undefined)
  t.equal(new Agent({ name: 'nowhere', model, register: false }).name, 'nowhere')
  t.equal(globalRegistry.get('agent', 'nowhere'), undefined)
})

t.test('its kind and name cannot be changed', async (t) => {
  const { agent } = makeAgent('Hello.')
  t.equal(agent.kind, 'agent')
  for (const field of ['kind', 'name']) t.throws(() => Object.assign(agent, { [field]: 'team' }), TypeError)
})

t.test('tells of itself without its instructions', async (t) => {
  const { agent } = makeAgent('Hello.', { description: 'Greets', instructions: 'SECRET', tools: [add] })
  t.strictSame(agent.describe(), {
    kind: 'agent',
    name: 'tester',
    description: 'Greets',
    model: 'scripted',
    tools: [
      {
        name: 'add',
        description: 'Adds two numbers',
        input: {
          type: 'object',
          required: ['a', 'b'],
          properties: { a: { type: 'number' }, b: { type: 'number' } }
        }
      }
    ]
  })
  t.notMatch(JSON.stringify([agent, agent.describe()]), 'SECRET')
  t.strictSame(new Agent({ name: 'bare', model: () => model, register: false }).describe(), {
    kind: 'agent',
    name: 'bare'
  })
})

const construct = (options: unknown): unknown => Reflect.construct(Agent, [options])

const faultOf = (make: () => unknown): Error | undefined => {
  try {
    make()
  } catch (err) {
    return err as Error
  }
  return undefined
}

t.test('a bad option is an error that names it', async (t) => {
  const bad: [options: object, says: RegExp][] = [
    [{ colour: 'red' }, /colour/],
    [{ maxSteps: 0 }, /maxSteps/],
    [{ maxSteps: '3' }, /maxSteps/],
    [{ description: 5 }, /description/],
    [{ card: { inputModes: ['text'] } }, /card\/inputModes\/0/],
    [{ card: { colour: 'red' } }, /card\/colour/],
    [{ instructions: 5 }, /instructions/],
    [{ settings: { heat: 1 } }, /settings\/heat/],
    [{ history: { maxMessages: -1 } }, /history\/maxMessages/],
    [{ retry: { attempts: 0 } }, /retry\/attempts/],
    [{ retry: { tries: 1 } }, /retry\/tries/],
    [{ timeout: { run: Infinity } }, /timeout\/run/],
    [{ timeout: 5 }, /timeout: expected an object, got an integer$/],
    [{ approval: 'sometimes' }, /approval/],
    [{ approvalTimeout: 2 ** 31 }, /approvalTimeout/],
    [{ sessions: {} }, /sessions/],
    [{ registry: {} }, /registry/],
    [{ register: 'no' }, /register/],
    [{ provider: 'openai' }, /provider/],
    [{ tools: [add, add] }, /tools\/1: there are two tools "add"/],
    [{ tools: [{ name: 'plain' }] }, /tools\/0/],
    [{ tools: add }, /tools/]
  ]
  for (const [options, message] of bad) {
    const make = () => new Agent({ name: 'bad', model, register: false, ...options })
    t.throws(make, { code: 'RUN_ERR_BAD_AGENT', message }, JSON.stringify(options))
  }
  const told: [options: object, says: string][] = [
    [{ colour: 'red' }, 'agent "bad": Bad option of an agent: colour: '],
    [
      { memory: true },
      'agent "bad": Bad option of an agent: memory: expected an object with retrieve and store, got a boolean'
    ],
    [{ model: undefined }, 'agent "bad": Not a model: none was given; pass the model itself'],
    [{ sandbox: true }, 'agent "bad": Bad sandbox: '],
    [{ skills: [{ name: 'A' }] }, 'agent "bad": Bad skill: ']
  ]
  for (const [options, says] of told) {
    const err = faultOf(() => construct({ name: 'bad', model, register: false, ...options }))
    t.equal(err?.message.slice(0, says.length), says)
    t.ok(err?.stack?.includes(err.message), 'the stack, which an uncaught error prints, has it too')
  }
  t.match(faultOf(() => construct({ model }))?.message, /^an agent: .*name/)
  t.throws(() => construct(undefined), { code: 'RUN_ERR_BAD_AGENT' })
  t.throws(() => new Agent({ name: 'a/b', model, register: false }), { code: 'REG_ERR_BAD_NAME' })
  t.throws(() => construct({ model, register: false }), {
    code: 'RUN_ERR_BAD_AGENT',
    message: /name/
  })
})

t.test('options are not changed', async (t) => {
  const options = { name: 'kept', model, register: false, tools: [add], retry: { attempts: 2 } }
  const before = { ...options, retry: { ...options.retry }, tools: [...options.tools] }
  t.ok(new Agent(options))
  t.strictSame(options, before)
})

t.test('run collects what stream gives', async (t) => {
  const { agent } = makeAgent(
    [{ toolCalls: [{ toolName: 'add', args: { a: 1, b: 2 } }] }, { text: ['It is', ' 3.'] }],
    {
      tools: [add]
    }
  )
  const result = await agent.run('1 + 2?')
  t.match(result, {
    text: 'It is 3.',
    toolCalls: [{ toolCallId: 'call-1', toolName: 'add', args: { a: 1, b: 2 }, result: 3 }],
    usage: { promptTokens: 20, completionTokens: 2, totalTokens: 22 },
    structured: null,
    finishReason: 'stop'
  })
  t.ok(result.durationMs > 0)
  t.match(result.runId, /^\w{31}$/)
  t.match(result.sessionId, /^[\w-]{36}$/)
})

t.test('run rejects with what the stream throws', async (t) => {
  const { agent } = makeAgent({ rejects: { statusCode: 400 } })
  await t.rejects(agent.run('Hello'), { code: 'RUN_ERR_MODEL_REFUSED', statusCode: 502, retryable: false })
})

t.test('input that is no message is refused', async (t) => {
  const { agent, model } = makeAgent('Hello.')
  const bad = [
    '',
    [],
    5,
    null,
    undefined,
    { text: 'x' },
    [{ type: 'text' }],
    [{ type: 'image', mimeType: 'image/png' }]
  ]
  for (const input of bad) await t.rejects(agent.run(input), { code: 'RUN_ERR_BAD_INPUT', statusCode: 400 })
  for (const url of ['nonsense', 'file:///etc/passwd', 'data:text/plain,x'])
    await t.rejects(agent.run([{ type: 'file', mimeType: 'a/b', url }]), { code: 'RUN_ERR_BAD_INPUT' })
  t.equal(model.calls.length, 0)
})
