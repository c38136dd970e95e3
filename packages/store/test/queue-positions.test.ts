import { storedRun, textEntry } from '@svc/testing'
import t from 'tap'
import { SPAN } from '../src/rows/queue-spans.ts'
import { eachStore } from './helpers/each-store.ts'

t.setTimeout(180_000)

const ECHO = { registry: 'global', kind: 'agent', name: 'echo' } as const
const any = { runnables: [ECHO], perOwner: 10_000, unlimited: 'anonymous' }
const AT_ONCE = 25

await eachStore(t, async (t, open) => {
  const store = await open()
  t.teardown(() => store.close())
  const { queue, runs, log } = store
  const waiting: { runId: string; queuedAt: number }[] = []
  const add = async (count: number, queuedAt: (index: number) => number, fields: object = {}) => {
    for (let begun = 0; begun < count; begun += AT_ONCE)
      await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, count - begun) }, async (_, index) => {
          const run = storedRun({ epoch: 0, queuedAt: queuedAt(begun + index), ...fields })
          await queue!.add(run, textEntry(1), {})
          if (run.owner === 'ada') waiting.push({ runId: run.runId, queuedAt: run.queuedAt! })
        })
      )
    waiting.sort((a, b) => a.queuedAt - b.queuedAt || (a.runId < b.runId ? -1 : 1))
  }
  const leave = (runId: string) => {
    const index = waiting.findIndex((run) => run.runId === runId)
    if (index >= 0) waiting.splice(index, 1)
  }
  const take = async () => {
    const next = (await queue!.next(any))!
    await log.append(next.runId, next.epoch, [textEntry(2)], { status: 'completed', at: 1 })
    queue!.ended?.(next.runId)
    leave(next.runId)
  }
  /** Compares some positions, and those of a list, with places in the array. */
  const check = async (what: string) => {
    const { length } = waiting
    for (const index of [0, 1, SPAN - 1, SPAN, SPAN + 1, length >> 1, length - 2, length - 1])
      if (waiting[index] !== undefined)
        t.equal((await runs.find(waiting[index].runId))?.queuePosition, index + 1, `${what}: ${index}`)
    const { runs: listed } = await runs.list({ owner: 'ada', status: 'submitted', limit: 40 })
    for (const { runId, queuePosition } of listed)
      t.equal(queuePosition, waiting.findIndex((run) => run.runId === runId) + 1, what)
  }

  await add(SPAN * 2 + 300, (index) => 1_000 + index)
  await add(3, () => 1, { owner: 'bob' })
  await check('in order')
  await add(30, (index) => 1_200 + index * 10)
  await check('with a clock that is behind')
  await add(60, () => 999_999)
  await check('in one millisecond')
  for (let count = 0; count < 40; count++) await take()
  await check('some have begun')
  for (const index of [waiting.length - 1, waiting.length - 3, SPAN + 5, SPAN, 10]) {
    const { runId } = waiting[index]!
    await queue!.withdraw(runId)
    await log.append(runId, 1, [textEntry(2)], { status: 'canceled', at: 1 })
    queue!.ended?.(runId)
    leave(runId)
  }
  await check('some were canceled')
  for (const index of [SPAN + 20, 3]) {
    const { runId } = waiting[index]!
    await runs.remove(runId)
    leave(runId)
  }
  await check('some were removed')
})
