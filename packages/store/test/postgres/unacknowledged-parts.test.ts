import { createRunEngine, defineRunnable, type ChannelPart, type RunEngine } from '@svc/registry'
import { isEnd } from '@svc/registry/engine'
import { storedRun, textEntry } from '@svc/testing'
import { startProxy } from '@tools/postgres'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

t.setTimeout(120_000)

const lease = { ttl: 60_000, beat: 20_000 }
const limit = { entries: 512, bytes: 65_536 }
const key = {
  registry: 'global',
  owner: 'anonymous',
  kind: 'agent',
  name: 'talker',
  sessionId: 's'
} as const

/** The parts of a session as a client gets them that continues after one. */
function follow({ sessions }: RunEngine, after: string) {
  const parts = sessions.parts(key, after)
  return {
    async until(isLast: (part: ChannelPart) => boolean): Promise<ChannelPart[]> {
      const taken: ChannelPart[] = []
      for (;;) {
        const { value } = await parts.next()
        if (value === undefined) return taken
        taken.push(value)
        if (isLast(value)) return taken
      }
    },
    leave: () => parts.return()
  }
}

const says = (text: string) => (each: ChannelPart) => each.part.type === 'text' && each.part.text === text

// The answer to a commit may be late, as to a process that stood still, or lost with the server: others have what it has written first.
await onPostgres(t, async (t, _open, url) => {
  const proxy = await startProxy(url)
  t.teardown(() => proxy.close())
  const { open } = await createNodes(t, url)
  const writing = await open({ url: proxy.url, lease })
  const reading = await open({ lease })

  await t.test('a place that another node has given is known on the node that writes', async (t) => {
    const { runId } = storedRun()
    await writing.runs.create(storedRun({ runId }))
    await writing.log.append(runId, 1, [textEntry(1)])
    proxy.holdAnswers('part 2')
    const appended = writing.log.append(runId, 1, [textEntry(2)])
    while ((await reading.log.read(runId, 1, limit)).length === 0);
    t.same(await writing.log.read(runId, 1, limit), [], 'it does not know what it has written')
    t.equal(await isEnd(writing, runId, 2), false)
    await t.rejects(async () => isEnd(writing, runId, 3), { code: 'RUN_ERR_LOG_GONE' })
    proxy.pass()
    await appended
    t.equal(await isEnd(writing, runId, 2), false)
  })

  await t.test('a reader of a session continues there, and misses and repeats nothing', async (t) => {
    const [one, other] = [writing, reading].map((stores) => createRunEngine({ stores })) as [
      RunEngine,
      RunEngine
    ]
    t.teardown(async () => Promise.all([one.close(), other.close()]))
    const goesOn = Promise.withResolvers<void>()
    const ends = Promise.withResolvers<void>()
    const talker = defineRunnable({
      kind: 'agent',
      name: 'talker',
      async *stream() {
        yield { type: 'text', text: 'first' }
        await goesOn.promise
        yield { type: 'text', text: 'second' }
        await ends.promise
        yield { type: 'text', text: 'third' }
      }
    })
    const run = await one.start(talker, 'Go.', { sessionId: 's' })
    const there = follow(other, '0.0')
    await there.until(says('first'))
    proxy.holdAnswers('second')
    goesOn.resolve()
    const last = (await there.until(says('second'))).at(-1)!
    await there.leave()
    const here = follow(one, last.id)
    const rest = here.until(({ part }) => part.type === 'finish')
    const [, seq] = last.id.split('.')
    await t.rejects(one.sessions.open(key, `1.${Number(seq) + 1}`), { code: 'RUN_ERR_LOG_GONE' })
    proxy.pass()
    ends.resolve()
    await run.result()
    t.same(
      (await rest).map(({ id }) => id),
      (await follow(other, last.id).until(({ part }) => part.type === 'finish')).map(({ id }) => id)
    )
    t.match(await rest, [{ part: { type: 'text', text: 'third' } }, { part: { type: 'finish' } }])
    await here.leave()
  })
})
