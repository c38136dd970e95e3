import { setTimeout as pause } from 'node:timers/promises'
import { startPostgres } from '@tools/postgres'
import { ChannelService, type ChannelStore, type TruePart } from './channel/channel-service.ts'
import { Follower, type Reading } from './channel/follow.ts'
import type { Finding } from './finding.ts'
import { Random } from './random.ts'

/** Conversations, and what happens to their readers. */
export interface ChannelLoad {
  readonly store: ChannelStore
  readonly scripts: number
  /** At once, on a service of their own. */
  readonly batch: number
  /** Times that a node is closed and opened again, for each batch. */
  readonly restarts: number
  /** Decides all else. */
  readonly seed: number
}

/** What readers got, beside the logs. */
export interface ChannelReport {
  readings: number
  parts: number
  cuts: number
  restarts: number
  /** Parts that a reader did not get. */
  gaps: number
  /** Parts that a reader got twice. */
  duplicates: number
  /** Readings that differ otherwise: in the order, the runs or the JSON of their parts. */
  differing: number
}

const READERS = 3
// Milliseconds between two restarts, at most.
const RESTART_WITHIN = 300

/** Plays random conversations with three readers each, which are cut and come back. */
export async function followUnderFire(load: ChannelLoad): Promise<ChannelReport> {
  const report = { readings: 0, parts: 0, cuts: 0, restarts: 0, gaps: 0, duplicates: 0, differing: 0 }
  const random = new Random(load.seed)
  for (let done = 0; done < load.scripts; done += load.batch) {
    const service = await ChannelService.open(load.store)
    try {
      const count = Math.min(load.batch, load.scripts - done)
      const playing = Promise.all(
        Array.from({ length: count }, (_, at) => play(service, `s${done + at}`, random))
      )
      for (let n = 0; n < load.restarts; n++, report.restarts++) {
        await pause(random.below(RESTART_WITHIN))
        await service.restart(random)
      }
      for (const script of await playing) await endScript(service, script, report)
    } finally {
      await service.close()
    }
  }
  return report
}

/** A conversation whose readers do not know yet that it is over. */
interface Played {
  readonly sessionId: string
  readonly followers: readonly Follower[]
  readonly reading: readonly Promise<Reading>[]
}

// Two to six messages on any node, some canceled; the readers come once the first is accepted.
async function play(service: ChannelService, sessionId: string, random: Random): Promise<Played> {
  const runIds = [await service.say(sessionId, random)]
  const followers = Array.from({ length: READERS }, () => new Follower(service, sessionId, random))
  const reading = followers.map((each) => each.run())
  for (let more = random.below(5) + 1; more > 0; more--) {
    await pause(random.below(20))
    const runId = await service.say(sessionId, random)
    runIds.push(runId)
    if (random.chance(0.1)) await service.cancel(runId, random)
  }
  for (const runId of runIds) await service.untilEnd(runId)
  return { sessionId, followers, reading }
}

async function endScript(
  service: ChannelService,
  { sessionId, followers, reading }: Played,
  report: ChannelReport
): Promise<void> {
  const truth = await service.truthOf(sessionId)
  for (const each of followers) each.endAt(truth.at(-1)!.id)
  for (const each of await Promise.all(reading)) compare(truth, each, report)
}

function compare(truth: readonly TruePart[], { parts, cuts }: Reading, report: ChannelReport): void {
  const got = new Set(parts.map(({ id }) => id))
  report.readings++
  report.parts += parts.length
  report.cuts += cuts
  report.gaps += truth.filter(({ id }) => !got.has(id)).length
  report.duplicates += parts.length - got.size
  const isSame = parts.every(({ id, runId, json }, at) => {
    const expected = truth[at]
    return id === expected?.id && runId === expected.runId && isSameJson(json, expected.json)
  })
  if (!isSame) report.differing++
}

// The fields may be in another order.
function isSameJson(json: string | undefined, expected: string): boolean {
  return json === undefined || sorted(json) === sorted(expected)
}

function sorted(json: string): string {
  return JSON.stringify(Object.entries(JSON.parse(json) as object).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Conversations in memory, on SQLite and on two nodes of Postgres. */
export async function soakChannel(count: number, seed: number): Promise<Finding[]> {
  const server = await startPostgres()
  const share = (part: number) => Math.ceil(count * part)
  try {
    const reports = [
      await followUnderFire({ store: 'memory', scripts: share(0.2), batch: 50, restarts: 0, seed }),
      await followUnderFire({ store: 'sqlite', scripts: share(0.4), batch: 25, restarts: 6, seed }),
      await followUnderFire({
        store: { postgres: server.url },
        scripts: share(0.4),
        batch: 25,
        restarts: 6,
        seed
      })
    ]
    const sum = (name: keyof ChannelReport) => reports.reduce((total, report) => total + report[name], 0)
    const counts = (['readings', 'parts', 'cuts', 'restarts'] as const).map((name) => `${sum(name)} ${name}`)
    console.log(`${counts.join(', ')}, seed ${seed}`)
    return [
      { what: 'parts of sessions that a reader missed', value: sum('gaps'), limit: 0, unit: 'parts' },
      {
        what: 'parts of sessions that a reader got twice',
        value: sum('duplicates'),
        limit: 0,
        unit: 'parts'
      },
      { what: 'readings of sessions that differ', value: sum('differing'), limit: 0, unit: 'readings' }
    ]
  } finally {
    await server.stop()
  }
}
