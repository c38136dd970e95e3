import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createEventBus } from '@svc/registry'
import { channelName, EVENT_SCHEMAS, type RuntimeEvents } from '@svc/runtime'
import t from 'tap'
import { RunEvents } from '../../src/events/run-events.ts'
import { makeAgent, makeContext } from '../helpers/make-agent.ts'

const NAMES = Object.keys(EVENT_SCHEMAS) as (keyof RuntimeEvents)[]

t.test('every event has a channel of its name', async (t) => {
  for (const name of NAMES) t.equal(channelName(name), `svc:${name}`)
})

t.test('what is on the bus is on the channels, and the same object', async (t) => {
  const published: [string, unknown][] = []
  const hear = (message: unknown, name: string | symbol) => void published.push([String(name), message])
  for (const name of NAMES) subscribe(channelName(name), hear)
  t.teardown(() => NAMES.forEach((name) => unsubscribe(channelName(name), hear)))
  const { context } = makeContext()
  const onBus: unknown[] = []
  for (const name of NAMES) context.events.on(name, (event) => onBus.push(event))
  await makeAgent({ text: ['a', 'b'] }).agent.run('Hi', context)
  t.strictSame(
    published.map(([name]) => name),
    ['run.start', 'model.call', 'run.stream.chunk', 'run.stream.chunk', 'model.result', 'run.complete'].map(
      (name) => `svc:${name}`
    )
  )
  for (const [index, [, message]] of published.entries()) t.equal(message, onBus[index])
})

t.test('a channel is enough, the bus need not be heard', async (t) => {
  const chunks: unknown[] = []
  const hear = (message: unknown) => void chunks.push((message as { text: string }).text)
  subscribe('svc:run.stream.chunk', hear)
  await makeAgent({ text: ['a', 'b'] }).agent.run('Hi', makeContext().context)
  unsubscribe('svc:run.stream.chunk', hear)
  await makeAgent({ text: ['c'] }).agent.run('Hi', makeContext().context)
  t.strictSame(chunks, ['a', 'b'])
})

t.test('nothing is built for nobody', async (t) => {
  const events = new RunEvents({ events: createEventBus(), runId: 'r' }, 'n', 'agent')
  for (const name of NAMES) events.emit(name, () => t.fail(`${name} was built`) as never)
  t.pass()
})
