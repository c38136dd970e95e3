import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createEventBus } from '@svc/registry'
import { channelName, EVENT_SCHEMAS, type RuntimeEvents } from '@svc/runtime'
import t from 'tap'
import { RunEvents } from '../../src/events/events.ts'
import { makeAgent, makeContext } from '../helpers/make-agent.ts'

const NAMES = Object.keys(EVENT_SCHEMAS) as (keyof RuntimeEvents)[]

t.test('every event has a diagnostics channel with its name', async (t) => {
  for (const name of NAMES) t.equal(channelName(name), `svc:${name}`)
})

t.test('events on the bus and on channels are the same object', async (t) => {
  const published: [string, unknown][] = []
  const receive = (message: unknown, name: string | symbol) => void published.push([String(name), message])
  for (const name of NAMES) subscribe(channelName(name), receive)
  t.teardown(() => NAMES.forEach((name) => unsubscribe(channelName(name), receive)))
  const { context } = makeContext()
  const onBus: unknown[] = []
  for (const name of NAMES) context.events.on(name, (event) => onBus.push(event))
  await makeAgent({ text: ['a', 'b'] }).agent.run('Hi', context)
  t.strictSame(
    published.map(([name]) => name),
    [
      'run.start',
      'context.assembled',
      'model.call',
      'run.stream.chunk',
      'run.stream.chunk',
      'model.result',
      'run.complete'
    ].map((name) => `svc:${name}`)
  )
  for (const [index, [, message]] of published.entries()) t.equal(message, onBus[index])
})

t.test('a channel works without a listener on the bus', async (t) => {
  const chunks: unknown[] = []
  const receive = (message: unknown) => void chunks.push((message as { text: string }).text)
  subscribe('svc:run.stream.chunk', receive)
  await makeAgent({ text: ['a', 'b'] }).agent.run('Hi', makeContext().context)
  unsubscribe('svc:run.stream.chunk', receive)
  await makeAgent({ text: ['c'] }).agent.run('Hi', makeContext().context)
  t.strictSame(chunks, ['a', 'b'])
})

t.test('no payload is built without a listener', async (t) => {
  const events = new RunEvents({ events: createEventBus(), runId: 'r' }, 'n', 'agent')
  for (const name of NAMES) events.emit(name, () => t.fail(`${name} was built`) as never)
  t.pass()
})
