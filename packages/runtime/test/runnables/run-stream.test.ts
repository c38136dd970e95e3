import { once } from 'node:events'
import { createContext, defineRunnable, type YieldedPart } from '@svc/registry'
import { Agent, Team, Workflow, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import * as z from 'zod'
import { makeAgent } from '../helpers/make-agent.ts'

const words = ['one ', 'two ', 'three']
const text = words.join('')
const look = defineTool({ name: 'look', description: 'Looks', inputSchema: z.object({}), execute: () => 7 })

function makeAll() {
  const { agent, model } = makeAgent({ text: words })
  const make = { register: false, name: 'all' } as const
  return {
    model,
    runnables: [
      agent,
      new Team({
        ...make,
        mode: 'route',
        model: scriptedModel({ toolCalls: [{ toolName: 'route', args: { member: 'tester' } }] }),
        members: [agent]
      }),
      new Workflow({ ...make, steps: (flow) => flow.step('count', agent) })
    ]
  }
}

t.test('the text and the result of agents, teams and workflows are views of one run', async (t) => {
  const { runnables, model } = makeAll()
  for (const [index, runnable] of runnables.entries()) {
    const stream = runnable.stream('Count')
    t.equal((await Array.fromAsync(stream.text)).join(''), text, runnable.kind)
    const { durationMs: _, ...result } = await stream.result
    t.match(result, { text, finishReason: 'stop', toolCalls: runnable.kind === 'team' ? [{}] : [] })
    t.equal(await stream.result, await stream.result)
    t.equal((await Array.fromAsync(stream)).at(-1)?.type, 'finish', 'the parts are there for a later reader')
    t.equal(model.calls.length, index + 1)
  }
})

t.test('the result alone is that of run()', async (t) => {
  for (const runnable of makeAll().runnables) {
    const streamed = await runnable.stream('Count', createContext({ sessionId: 's', runId: 'r' })).result
    const ran = await runnable.run('Count', createContext({ sessionId: 's', runId: 'r' }))
    // Ids of calls are random.
    const rest = { durationMs: 0, toolCalls: [] }
    t.same({ ...streamed, ...rest }, { ...ran, ...rest }, runnable.kind)
  }
})

t.test(
  'readers at different paces get the same parts, and a result may be asked for before or after',
  async (t) => {
    const { agent, model } = makeAgent({ text: words, delay: 1 })
    const stream = agent.stream('Count')
    const early = stream.result
    const [parts, texts] = await Promise.all([Array.fromAsync(stream), Array.fromAsync(stream.text)])
    t.same(
      parts.filter((part) => part.type === 'text').map((part) => part.text),
      words
    )
    t.same(texts, words)
    t.equal(early, stream.result)
    t.equal((await early).text, text)
    t.equal(model.calls.length, 1)
  }
)

t.test('two requests at once get two parts', async (t) => {
  const stream = makeAgent({ text: words }).agent.stream('Count')
  const parts = await Promise.all([stream.next(), stream.next(), stream.next()])
  t.same(
    parts.map(({ value }) => value?.type),
    ['step.start', 'text', 'text']
  )
  await stream.return()
})

t.test('the text is that of all steps, and no text of a member', async (t) => {
  const call = { toolCalls: [{ toolName: 'look', args: {} }] }
  const { agent } = makeAgent([{ text: ['Let me look. '], ...call }, 'Seven.'], { tools: [look] })
  const stream = agent.stream('?')
  t.same(await Array.fromAsync(stream.text), ['Let me look. ', 'Seven.'])
  t.match(await stream.result, { text: 'Seven.', toolCalls: [{ toolName: 'look', result: 7 }] })
  const [one, two] = ['a', 'b'].map(
    (name) => new Agent({ name, model: scriptedModel(name), register: false })
  )
  const team = new Team({ name: 'row', mode: 'sequence', members: [one!, two!], register: false })
  t.equal((await Array.fromAsync(team.stream('?').text)).join(), 'b')
})

t.test('an error rejects each view that is read, and nothing else', async (t) => {
  const unhandled: unknown[] = []
  const onUnhandled = (err: unknown) => void unhandled.push(err)
  process.on('unhandledRejection', onUnhandled)
  t.teardown(() => process.off('unhandledRejection', onUnhandled))
  const failing = () =>
    makeAgent(
      () => {
        throw new Error('down')
      },
      { retry: { attempts: 1 } }
    ).agent
  await t.rejects(failing().run('x'))
  const stream = failing().stream('x')
  await t.rejects(Array.fromAsync(stream.text))
  await t.rejects(stream.result)
  await t.rejects(failing().stream('x').result)
  await t.rejects(makeAgent('').agent.stream('x', { session: 's' } as object).result, {
    code: 'RUN_ERR_BAD_CONTEXT'
  })
  // Read by nobody.
  const unread = failing().stream('x')
  void unread.result
  await t.rejects(Array.fromAsync(unread))
  await new Promise((resolve) => setImmediate(resolve))
  t.same(unhandled, [])
})

t.test('leaving the parts or the text ends the run, and its result is canceled', async (t) => {
  for (const view of ['parts', 'text'] as const) {
    const { agent, model } = makeAgent({ text: words, delay: 1 })
    const stream = agent.stream('Count')
    for await (const part of view === 'text' ? stream.text : stream)
      if (typeof part === 'string' || part.type === 'text') break
    t.equal(model.calls[0]?.abortSignal?.aborted, true, view)
    await t.rejects(stream.result, { code: 'RUN_ERR_CANCELED' })
    t.same(await stream.next(), { done: true, value: undefined })
  }
  const { agent, model } = makeAgent('unread')
  const unread = agent.stream('Count')
  await unread[Symbol.asyncDispose]()
  await t.rejects(unread.result, { code: 'RUN_ERR_CANCELED' })
  t.same(await Array.fromAsync(unread.text), [])
  t.equal(model.calls.length, 0)
})

t.test('a run that is left after its finish has its result', async (t) => {
  const stream = makeAgent('Done.').agent.stream('x')
  for await (const part of stream) if (part.type === 'finish') break
  t.equal((await stream.result).text, 'Done.')
})

t.test('a signal ends the run of a result that is awaited', async (t) => {
  const controller = new AbortController()
  const { agent, model } = makeAgent({ text: words, delay: 60_000 })
  const { result } = agent.stream('Count', { signal: controller.signal })
  while (model.calls.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const aborted = once(model.calls[0]!.abortSignal!, 'abort')
  controller.abort(new Error('enough'))
  await Promise.all([aborted, t.rejects(result, /enough/)])
})

t.test('a repeated step voids the text that was read: the text says so, and the result counts', async (t) => {
  class Repeating extends Agent {
    protected override async *execute(): AsyncGenerator<YieldedPart, void> {
      yield { type: 'step.start', index: 0, attempt: 1 }
      yield { type: 'text', text: 'Half an ans' }
      yield { type: 'step.start', index: 0, attempt: 2 }
      yield { type: 'text', text: 'A whole answer.' }
      yield { type: 'finish', finishReason: 'stop' }
    }
  }
  const make = () => new Repeating({ name: 'r', model: scriptedModel(''), register: false }).stream('x')
  const stream = make()
  const read: string[] = []
  const reading = async () => {
    for await (const each of stream.text) read.push(each)
  }
  await t.rejects(reading, { code: 'RUN_ERR_TEXT_VOID' })
  t.same(read, ['Half an ans'])
  t.equal((await stream.result).text, 'A whole answer.')
  t.equal((await Array.fromAsync(make())).length, 5)
})

t.test('any object with a stream of parts is still a runnable', async (t) => {
  const runnable = defineRunnable({
    kind: 'agent',
    name: 'plain',
    async *stream() {
      yield { type: 'text', text: 'plain' }
    }
  })
  const team = new Team({ name: 'of-plain', mode: 'sequence', members: [runnable], register: false })
  t.equal((await team.stream('x').result).text, 'plain')
})
