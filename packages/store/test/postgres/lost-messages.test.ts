import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlMessage, LogEntry } from '@svc/registry'
import { storedRun, textEntry } from '@svc/testing'
import type { Store } from '@svc/store'
import { startProxy } from '@tools/postgres'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const lease = { ttl: 4_000, beat: 100 }
const limit = { entries: 512, bytes: 65_536 }

/** Reads a log as a reader does that only reads when it is woken; resolves once it has the part. */
async function readUntil({ log }: Store, runId: string, last: number): Promise<LogEntry[]> {
  const read: LogEntry[] = []
  let wake = () => {}
  const unfollow = log.follow(runId, () => wake())
  while ((read.at(-1)?.seq ?? 0) < last) {
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    const page = await log.read(runId, read.at(-1)?.seq ?? 0, limit)
    read.push(...page)
    if (page.length === 0) await promise
  }
  unfollow()
  return read
}

await onPostgres(t, async (t, _open, url) => {
  const { schema, admin, open } = await createNodes(t, url)
  const [first, second] = [await open({ lease }), await open({ lease })]

  /** A write of another node whose notification is lost. */
  const writeSilently = (runId: string, seq: number) =>
    admin.query(`insert into ${schema}.run_part (run_id, seq, json) values ($1, $2, $3)`, [
      runId,
      seq,
      textEntry(seq).json
    ])

  await t.test('a reader finds parts without a notification, whatever other readers have read', async (t) => {
    const { runId } = storedRun()
    await first.runs.create(storedRun({ runId }))
    const slow = readUntil(second, runId, 3)
    await writeSilently(runId, 1)
    await readUntil(second, runId, 1)
    await writeSilently(runId, 2)
    await readUntil(second, runId, 2)
    await writeSilently(runId, 3)
    t.same(
      (await slow).map(({ seq }) => seq),
      [1, 2, 3]
    )
  })

  await t.test('a reader learns without a notification that a log is gone', async () => {
    const { runId } = storedRun()
    await first.runs.create(storedRun({ runId }))
    const gone = Promise.withResolvers<void>()
    const unfollow = second.log.follow(runId, (isGone) => void (isGone && gone.resolve()))
    await sleep(50)
    await admin.query(`delete from ${schema}.run where run_id = $1`, [runId])
    await gone.promise
    unfollow()
  })

  await t.test('cancels and answers are delivered without a notification', async (t) => {
    const { runId } = storedRun()
    await first.runs.create(storedRun({ runId }))
    const input = {
      inputId: `${runId}.1`,
      kind: 'question',
      source: [],
      path: [],
      expiresAt: Date.now() + 60_000,
      answer: null
    } as const
    await first.log.append(runId, 1, [textEntry(1)], { status: 'input-required', at: 2, input })
    const received = new Map<string, ControlMessage>()
    const both = Promise.withResolvers<void>()
    const unsubscribe = first.control.subscribe((message) => {
      if (message.runId === runId && received.set(message.type, message).size === 2) both.resolve()
    })
    const answer = { action: 'accept', content: 'yes' } as const
    t.equal(await second.runs.answerInput(runId, input.inputId, answer), true)
    t.equal(await second.runs.requestCancel(runId), true)
    await both.promise
    unsubscribe()
    t.same(received.get('input'), { type: 'input', runId, inputId: input.inputId, answer })
    t.same(received.get('cancel'), { type: 'cancel', runId })
  })

  await t.test('a turn begins without a notification', async (t) => {
    const key = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' } as const
    const never = new AbortController().signal
    await first.sessions.lock(key, never)
    const next = (async () => second.sessions.lock(key, never))()
    await sleep(50)
    await admin.query(`delete from ${schema}.session_turn where ticket = 1`)
    const release = await next
    release()
    t.pass('the look of each second found it')
  })

  await t.test('messages arrive again after the connection for them was lost', async (t) => {
    const proxy = await startProxy(url)
    const third = await open({ listenUrl: proxy.url, lease: { ttl: 10_000, beat: 100 } })
    const { runId } = storedRun()
    const reset = async () => {
      proxy.hold()
      proxy.pass()
      await sleep(300)
    }
    await first.runs.create(storedRun({ runId }))
    for (let round = 0; round < 3; round++) {
      await reset()
      const received = Promise.withResolvers<ControlMessage>()
      const unsubscribe = third.control.subscribe(received.resolve)
      await first.control.publish({ type: 'watch', runId, watcher: `w${round}` })
      t.same(await received.promise, { type: 'watch', runId, watcher: `w${round}` })
      unsubscribe()
    }
    await third.close()
    await proxy.close()
  })
})
