import { Type } from '@sinclair/typebox'
import { setImmediate as turn } from 'node:timers/promises'
import {
  createContext,
  createInProcessStores,
  defineRunnable,
  type ApprovalOutcome,
  type MemoryStore,
  type RunContext,
  type StartOptions
} from '@svc/registry'
import { createRedact } from '../../src/redaction/redact-value.ts'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const key = 'sk-caller-0123'
const withKey: StartOptions = { redact: createRedact([key]) }
const principal = { sub: `me ${key}`, scopes: [] }

t.test('an answer is stored without the key, but returned unchanged', async (t) => {
  const engine = buildEngine(t)
  const outcomes: ApprovalOutcome[] = []
  const request = { toolCallId: `call of ${key}`, toolName: 'use', args: { key, list: [key] } }
  const asking = scriptedRunnable([
    async ({ approvals }) => void outcomes.push(await approvals.request(request))
  ])
  const run = await engine.start(asking, 'x', withKey)
  const [asked] = (await engine.get(run.runId))!.inputs
  t.strictSame(asked?.args, { key: '[redacted]', list: ['[redacted]'] })
  t.equal(asked?.toolCallId, 'call of [redacted]', 'as in the part')
  const answer = { approved: true, reason: `since ${key}`, args: { key } }
  await engine.answer(asked!.inputId, answer)
  t.strictSame((await engine.findInput(asked!.inputId))?.input.answer, {
    action: 'accept',
    reason: 'since [redacted]',
    content: { key: '[redacted]' }
  })
  t.strictSame(outcomes, [answer])
  await run.result()
  t.notMatch(JSON.stringify([await engine.get(run.runId), await partsOf(run)]), key)
})

t.test('the name of a file is stored without the key, its bytes are not changed', async (t) => {
  const engine = buildEngine(t)
  const maker = scriptedRunnable([
    async ({ runId, stores }) => {
      const content = Buffer.from(key)
      const file = await stores.files!.put(runId, { mimeType: 'a/b', filename: `of ${key}.txt`, content })
      t.equal(file.filename, 'of [redacted].txt')
      const found = (await stores.files!.get(runId, file.fileId))!
      t.equal(String(Buffer.concat(await Array.fromAsync(found.content))), key)
    }
  ])
  await (await engine.start(maker, 'x', withKey)).result()
})

t.test('a question, a client tool and their answers are stored and shown without the key', async (t) => {
  const engine = buildEngine(t)
  const outcomes: unknown[] = []
  const asking = scriptedRunnable([
    async (context) => {
      const schema = Type.Object({ own: Type.Literal(key) }, { description: `of ${key}` })
      const [first, second] = [
        context.ask({ message: `Is it ${key}?`, schema, toolCallId: `call of ${key}` }),
        context.callClient({ toolCallId: key, toolName: 'use', args: { [key]: key } })
      ]
      outcomes.push(await first, await second)
    }
  ])
  const run = await engine.start(asking, 'x', withKey)
  const { inputs } = (await engine.get(run.runId))!
  t.match(inputs, [
    {
      message: 'Is it [redacted]?',
      schema: { properties: { own: { const: '[redacted]' } }, description: 'of [redacted]' },
      toolCallId: 'call of [redacted]'
    },
    { toolCallId: '[redacted]', args: { '[redacted]': '[redacted]' } }
  ])
  const listed = await engine.listInputs({ kinds: ['question', 'tool'], limit: 9 })
  t.notMatch(JSON.stringify([inputs, listed, await engine.find(run.runId)]), key)
  const shown = { action: 'accept', content: { own: '[redacted]' } } as const
  const given = { action: 'accept', content: { result: key, list: [key] } } as const
  await engine.answer(inputs[0]!.inputId, shown)
  await engine.answer(inputs[1]!.inputId, given)
  await run.result()
  t.strictSame(outcomes, [shown, given], 'the run gets what was answered')
  t.match((await engine.findInput(inputs[1]!.inputId))?.input.answer, {
    content: { result: '[redacted]', list: ['[redacted]'] }
  })
  t.notMatch(JSON.stringify([await engine.get(run.runId), await partsOf(run)]), key)
})

t.test('after a restart, a run resumes without its key, for the same principal', async (t) => {
  const stores = createInProcessStores()
  const seen: unknown[] = []
  let hold = true
  const runnable = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(input, context) {
      const output = await context.step('one', () => [input])
      const asked = context.approvals.request({ toolCallId: 'c', toolName: 'use', args: { output } })
      seen.push([input, output, context.principal.sub, context.envelope.metadata])
      if (hold) await new Promise(() => {})
      seen.push(await asked)
      yield { type: 'text', text: 'done' }
    }
  })
  const first = buildEngine(t, { stores })
  const metadata = { of: key }
  const started = await first.start(runnable, key, { ...withKey, principal, envelope: { metadata } })
  started.result().catch(() => {})
  while (seen.length === 0) await turn()
  t.strictSame(seen.splice(0), [[key, [key], principal.sub, metadata]], 'in its process it is there')
  await first.close()
  hold = false
  const engine = buildEngine(t, { stores, resumeWithServerKey: true })
  await engine.recover()
  t.equal(await engine.resume(runnable), 1)
  const { runId } = started
  t.equal((await engine.get(runId))?.inputs.length, 1)
  await engine.answer(`${runId}.1`, { approved: true })
  t.match((await partsOf({ parts: (after) => engine.parts(runId, after) })).at(-1), { type: 'finish' })
  t.equal((await engine.get(runId))?.inputs.length, 1, 'it is not asked for again')
  const told = '[redacted]'
  t.strictSame(seen, [[told, [told], principal.sub, { of: told }], { approved: true }])
})

/** A store with private fields, whose methods need the right `this`. */
class OwnMemory implements Pick<MemoryStore, 'put' | 'list'> {
  readonly #items: Parameters<MemoryStore['put']>[0][] = []

  put(item: Parameters<MemoryStore['put']>[0]): void {
    this.#items.push(item)
  }

  list(): Parameters<MemoryStore['put']>[0][] {
    return this.#items
  }
}

const keepKey = async ({ runId, stores }: RunContext) => {
  const namespace = `of ${key}`
  const [owner, text] = ['ada', `Note: ${key}`]
  await stores.memory.put({ id: '1', owner, namespace, text, metadata: { text }, createdAt: 1 })
  await stores.sessions.append({ registry: 'global', owner, kind: 'agent', name: 'x', sessionId: 's' }, '1', [
    { role: 'user', content: text }
  ])
  await stores.checkpoints.save(runId, 1, { text })
}

t.test('values stored by a runnable are redacted, their keys are not', async (t) => {
  const [text, redacted] = [`Note: ${key}`, 'Note: [redacted]']
  for (const inEngine of [true, false]) {
    for (const [options, wanted] of [
      [withKey, redacted],
      [{}, text]
    ] as const) {
      const memory = new OwnMemory() as unknown as MemoryStore
      const stores = Object.freeze({ ...createInProcessStores(), memory })
      const contexts: RunContext[] = []
      const act = async (context: RunContext) => {
        contexts.push(context)
        await keepKey(context)
      }
      if (inEngine)
        await (await buildEngine(t, { stores }).start(scriptedRunnable([act]), 'x', options)).result()
      else await act(createContext({ ...options, stores }))
      const { runId, stores: own } = contexts[0]!
      t.strictSame(await own.memory.list('', '', 1), [
        {
          id: '1',
          owner: 'ada',
          namespace: `of ${key}`,
          text: wanted,
          metadata: { text: wanted },
          createdAt: 1
        }
      ])
      const session = { registry: 'global', owner: 'ada', kind: 'agent', name: 'x', sessionId: 's' } as const
      t.strictSame(await stores.sessions.load(session, 9), [{ role: 'user', content: wanted }])
      t.strictSame((await stores.checkpoints.load(runId))?.state, { text: wanted })
      // Inside an engine, the stores redact.
      if (options !== withKey && !inEngine)
        t.equal(own, stores, 'without a key they are the stores themselves')
    }
  }
})

t.test('a key equal to a word of the protocol is not redacted', async (t) => {
  const engine = buildEngine(t)
  const script = scriptedRunnable([
    { type: 'tool.call', toolCallId: '1', toolName: 'use', args: {} },
    ({ approvals }) => approvals.request({ toolCallId: '1', toolName: 'use', args: {} }),
    { type: 'text', text: 'It is workflow-key-1.' }
  ])
  const words = ['toolCallId', 'toolName', 'tool.call', 'oolCallI', 'approved', 'completed', 'input-required']
  for (const word of words) {
    const run = await engine.start(script, 'x', { redact: createRedact([word, 'workflow-key-1']) })
    await turn()
    const { inputs, status } = (await engine.get(run.runId))!
    t.equal(status, 'input-required', word)
    await engine.answer(inputs[0]!.inputId, { approved: true })
    const parts = await partsOf(run)
    t.match(parts[1], { type: 'tool.call', toolCallId: '1', toolName: 'use' }, word)
    t.match(parts[4], { text: 'It is [redacted].' })
    t.match(await engine.get(run.runId), { status: 'completed', inputs: [{ answer: { action: 'accept' } }] })
  }
})
