import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { expose } from '@svc/registry'
import { createRedact } from '@svc/registry/engine'
import { channelName, EVENT_SCHEMAS, traceEvents, type RuntimeEvents } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t, { type Test } from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'
import { makeTeam } from '../helpers/make-team.ts'

const key = 'sk-caller-0123456789'
const withKey = { redact: createRedact([key]) }
const NAMES = Object.keys(EVENT_SCHEMAS) as (keyof RuntimeEvents)[]

/** A context, and the events of its run on the bus and on the channels: the text of a chunk, else the name. */
function listen(t: Test, options: Parameters<typeof makeContext>[0]) {
  const { context } = makeContext(options)
  const onBus: unknown[] = []
  const onChannels: unknown[] = []
  const emitted: string[] = []
  for (const name of NAMES) {
    const receive = (event: unknown) => void onChannels.push(event)
    subscribe(channelName(name), receive)
    t.teardown(() => unsubscribe(channelName(name), receive))
    context.events.on(name, (event) => {
      onBus.push(event)
      emitted.push(name === 'run.stream.chunk' ? (event as { text: string }).text : `<${name}>`)
    })
  }
  return { context, onBus, onChannels, emitted }
}

t.test(
  'a key split over chunks never reaches an event, and held-back text precedes the next event',
  async (t) => {
    const { context, onBus, onChannels, emitted } = listen(t, withKey)
    const text = ['It is ', key.slice(0, 5), key.slice(5), '.', ' Not sk-', 'x', ' but sk-']
    const { agent } = makeAgent([
      { text, toolCalls: [{ toolName: key, args: { [key]: key } }] },
      `caller: ${key}`
    ])
    await collect(agent.stream(`Is it ${key}?`, context))
    t.strictSame(emitted, [
      '<run.start>',
      '<context.assembled>',
      '<model.call>',
      'It is ',
      '[redacted]',
      '.',
      ' Not ',
      'sk-x',
      ' but ',
      'sk-',
      '<model.result>',
      '<tool.call>',
      '<tool.error>',
      '<context.assembled>',
      '<model.call>',
      'caller: [redacted]',
      '<model.result>',
      '<run.complete>'
    ])
    t.notMatch(JSON.stringify(onBus), key)
    t.strictSame(onChannels, onBus)
  }
)

t.test('without a key every chunk is emitted at once', async (t) => {
  const { context, emitted } = listen(t, {})
  await collect(makeAgent({ text: ['a', 'sk-', 'b'] }).agent.stream('Hi', context))
  t.strictSame(emitted.slice(3, -2), ['a', 'sk-', 'b'])
})

t.test('an answer emitted as a whole is complete', async (t) => {
  const { context, emitted } = listen(t, withKey)
  const { agent } = makeAgent('Good. sk-')
  await collect(makeTeam({ mode: 'sequence', members: [agent] }).stream('Hi', context))
  const start = emitted.lastIndexOf('<run.complete>', -2)
  t.strictSame(emitted.slice(start), ['<run.complete>', 'Good. ', 'sk-', '<run.complete>'])
})

t.test('errors are emitted without the key', async (t) => {
  const { context, onBus, emitted } = listen(t, withKey)
  const fault = expose({ code: 'REFUSED', message: `refused ${key}`, statusCode: 502 })
  const { agent } = makeAgent('x', {
    model: () => {
      throw fault
    }
  })
  t.equal((await collect(agent.stream('Hi', context))).error, fault)
  t.strictSame(emitted, ['<run.start>', '<run.error>'])
  t.match(JSON.stringify(onBus), 'refused [redacted]')
})

t.test('spans contain no key, even if the model uses it as a tool name', async (t) => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const { context } = makeContext(withKey)
  const stop = await traceEvents(context.events, { tracerProvider })
  const toolCalls = [{ toolName: key, toolCallId: key, args: {} }]
  await collect(makeAgent('x', { model: scriptedModel([{ toolCalls }, key]) }).agent.stream(key, context))
  stop()
  const spans = exporter.getFinishedSpans().map(({ name, attributes }) => ({ name, attributes }))
  t.equal(spans[1]?.name, 'execute_tool [redacted]')
  t.equal(spans.length, 4)
  t.notMatch(JSON.stringify(spans), key)
})
