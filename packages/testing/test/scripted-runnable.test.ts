import { getEventListeners } from 'node:events'
import { createContext } from '@svc/registry'
import { pause, scriptedRunnable } from '@svc/testing'
import t from 'tap'

t.test('plays its script: parts, waits and functions', async (t) => {
  const done: unknown[] = []
  const runnable = scriptedRunnable(
    [
      (context, input) => done.push(context.runId, input),
      { type: 'text', text: 'a' },
      1,
      async () => done.push('awaited'),
      { type: 'text', text: 'b' }
    ],
    { kind: 'team', name: 'player', description: 'Plays' }
  )
  t.same(runnable.describe(), { kind: 'team', name: 'player', description: 'Plays' })
  t.match(await runnable.run('hello', createContext({ runId: 'r' })), { text: 'ab', runId: 'r' })
  t.same(done, ['r', 'hello', 'awaited'])
  t.same(scriptedRunnable([]).describe(), { kind: 'agent', name: 'scripted' })
})

t.test('an act that throws fails the run', async (t) => {
  const fault = new Error('act')
  const runnable = scriptedRunnable([() => Promise.reject(fault)])
  t.equal(await runnable.run('x', createContext()).catch((err: unknown) => err), fault)
})

t.test('a pause ends in time, or with its signal, and leaves no listener', async (t) => {
  const controller = new AbortController()
  await pause(1, controller.signal)
  t.equal(getEventListeners(controller.signal, 'abort').length, 0)
  const long = pause(60_000, controller.signal)
  const reason = new Error('enough')
  controller.abort(reason)
  t.equal(await long.catch((err: unknown) => err), reason)
  t.equal(await pause(60_000, controller.signal).catch((err: unknown) => err), reason)
  t.equal(getEventListeners(controller.signal, 'abort').length, 0)
  const left = process.getActiveResourcesInfo().filter((name) => name === 'Timeout')
  t.ok(left.length <= 1, 'no timer is left but that of the test')
})

t.test('approvals are denied without an engine', async (t) => {
  const context = createContext()
  const request = { toolCallId: 'c', toolName: 't', args: {} }
  t.match(await context.approvals.request(request), { approved: false, reason: String })
  t.equal(await context.step('a', () => 1), 1)
  t.equal(await context.child('m').step('a', async () => 2), 2)
})
