import { postgresForTests } from '@tools/postgres'
import t, { type Test } from 'tap'
import { followUnderFire } from '../bench/soak/channel.ts'
import { ChannelService, type ChannelStore } from '../bench/soak/channel/channel-service.ts'
import { Random } from '../bench/soak/random.ts'

t.setTimeout(120_000)
const postgres = await postgresForTests(t)
const skip = postgres === undefined && 'no Postgres runs on this machine'
const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)

async function requireWhole(t: Test, store: ChannelStore, restarts: number): Promise<void> {
  const report = await followUnderFire({ store, scripts: 8, batch: 8, restarts, seed })
  t.comment(JSON.stringify({ seed, ...report }))
  t.ok(report.cuts > 0)
  t.match(report, { readings: 24, restarts, gaps: 0, duplicates: 0, differing: 0 })
}

t.test('readers that are cut and come back get what the logs have: in memory', (t) =>
  requireWhole(t, 'memory', 0)
)

t.test('the same on SQLite, over restarts', (t) => requireWhole(t, 'sqlite', 3))

t.test('the same on two nodes of Postgres, over restarts', { skip }, (t) =>
  requireWhole(t, { postgres: postgres! }, 3)
)

t.test('every id of a channel resumes there', async (t) => {
  const random = new Random(seed)
  const service = await ChannelService.open('memory')
  t.teardown(() => service.close())
  for (let n = 0; n < 3; n++) await service.untilEnd(await service.say('s', random))
  const truth = await service.truthOf('s')
  const url = `${service.origin(random)}/api/sessions/agent/talker/s/stream`
  for (const [at, { id }] of truth.entries()) {
    const expected = truth.slice(at + 1).map((part) => part.id)
    if (expected.length > 0) t.same(await idsAfter(url, id, expected.length), expected, id)
  }
  t.same(
    await idsAfter(url, '0.0', truth.length),
    truth.map(({ id }) => id)
  )
})

// The first messages of a stream, which has no end.
async function idsAfter(url: string, id: string, count: number): Promise<string[]> {
  const response = await fetch(url, { headers: { 'last-event-id': id } })
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const ids = [...text.matchAll(/^id: (.+)$/gm)].map(([, found = '']) => found)
    if (ids.length >= count) return ids
  }
  return []
}
