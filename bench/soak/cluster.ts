import { startPostgres } from '@tools/postgres'
import { percentile } from '../figures.ts'
import { runChaos, type Chaos } from './cluster/chaos.ts'
import { createCluster } from './cluster/cluster.ts'
import { runRaces } from './cluster/races.ts'
import { deployUnderLoad } from './cluster/rolling-deploy.ts'
import type { Finding } from './finding.ts'

const LEASE = { ttl: 10_000, beat: 2_500 }

/** What went wrong in a chaos, by what it is. */
export function faultsOf(chaos: Chaos) {
  const { logs, steps, takeovers, stale, displaced, stuck, crashes, refused, channels, shown, misfired } =
    chaos
  return {
    'runs that never ended': stuck,
    'runs that ended otherwise than they should': logs.ends,
    'starts that were refused otherwise than by Retry-After': refused,
    'logs with holes': logs.holes,
    'readers with gaps, repetitions or changed parts': logs.readers,
    'readers of sessions with gaps, repetitions or changed parts': channels,
    'turns whose model was shown something else than the turns before it': shown,
    'runs that lost their place in their session': displaced,
    'schedules that have not fired exactly once': misfired,
    'recorded steps that were done again': steps.recorded,
    'calls of tools that are not idempotent, done again': steps.once,
    'writes of nodes that had lost the run': stale.map((write) => JSON.stringify(write)),
    'runs taken from a node that worked': takeovers.fromLiving,
    'processes that ended by themselves': crashes
  }
}

/** Three nodes on a Postgres while everything fails again and again, their replacement under load, and races of two nodes. */
export async function soakCluster(runs: number, races: number, seed: number): Promise<Finding[]> {
  return [...(await soakChaos(runs, seed)), ...(await soakDeploy()), ...(await soakRaces(races))]
}

async function soakDeploy(): Promise<Finding[]> {
  const options = { postgres: await startPostgres(), clockShifts: [0, 0, 0], lease: LEASE }
  const { runs, served, refused, repeated, failed, logs, stuck } = await deployUnderLoad(options, 40)
  const lost = [...stuck, ...logs.ends, ...logs.holes, ...logs.readers]
  for (const each of [...failed, ...lost].slice(0, 20)) console.error(each)
  const scope = `${served} served, ${refused} refused with Retry-After, ${repeated} repeated`
  return [
    {
      what: `requests that failed while all nodes were replaced (${scope})`,
      value: failed.length,
      limit: 0,
      unit: ''
    },
    { what: `runs lost or read otherwise, of ${runs}`, value: lost.length, limit: 0, unit: '' }
  ]
}

async function soakRaces(count: number): Promise<Finding[]> {
  const cluster = createCluster({ postgres: await startPostgres(), clockShifts: [0, 300_000], lease: LEASE })
  try {
    await Promise.all(cluster.nodes.map((node) => node.start()))
    const [one, two] = cluster.nodes.map(({ url }) => url!) as [string, string]
    return Object.entries(await runRaces(one, two, count)).map(([race, wrong]) => {
      for (const each of wrong.slice(0, 20)) console.error(`${race}: ${each}`)
      return { what: `wrong outcomes of ${count} races: ${race}`, value: wrong.length, limit: 0, unit: '' }
    })
  } finally {
    await cluster.close()
  }
}

// The clocks of the nodes are 5 minutes apart.
async function soakChaos(runs: number, seed: number): Promise<Finding[]> {
  const chaos = await runChaos({
    postgres: await startPostgres(),
    runs,
    seed,
    atOnce: 100,
    lease: LEASE,
    clockShifts: [-300_000, 0, 300_000],
    conversations: 0.3,
    schedules: [10_000, 20_000],
    times: {
      kill: [3_000, 6_000],
      restart: [8_000, 16_000],
      stop: [10_000, 20_000],
      away: [12_000, 16_000],
      network: [10_000, 20_000],
      crash: [8_000, 16_000],
      down: [2_000, 14_000],
      disconnect: [5_000, 10_000],
      progress: 200
    }
  })
  const { counts, steps, takeovers, silences, memory } = chaos
  const findings: Finding[] = []
  for (const [what, all] of Object.entries(faultsOf(chaos))) {
    for (const each of all.slice(0, 20)) console.error(`${what}: ${each}`)
    findings.push({ what, value: all.length, limit: 0, unit: '' })
  }
  for (const [what, all] of [
    ['runs whose process died five times without progress', chaos.poisoned],
    ['runs taken from a node that was silent while nothing was broken', takeovers.fromSilent]
  ] as const)
    findings.push({ what, value: all.length, limit: 0, unit: '' })
  const times = takeovers.times
  const [half, most] = [0.5, 0.99].map((share) => percentile(times, share) / 1_000) as [number, number]
  const quiet = [0.5, 0.99, 1].map((share) => (percentile(silences.all, share) / 1_000).toFixed(1))
  console.log(
    `the longest silence of a reader meanwhile, in s: p50 ${quiet[0]}, p99 ${quiet[1]}, max ${quiet[2]}`
  )
  console.log(
    `${chaos.runs} runs, ${chaos.sessions} sessions, seed ${seed}: ${JSON.stringify(counts)}; ${steps.interrupted} steps interrupted, ${steps.stopped} stopped`
  )
  return [
    ...findings,
    {
      what: 'the longest silence of a reader while everything worked',
      value: silences.mended / 1_000,
      limit: 25,
      unit: 's'
    },
    { what: `takeover p50 of ${times.length}`, value: half, limit: 20, unit: 's' },
    { what: 'takeover p99', value: most, limit: 20, unit: 's' },
    { what: 'takeover max', value: (times.at(-1) ?? 0) / 1_000, limit: 60, unit: 's' },
    { what: 'memory of a node at the end', value: memory / 2 ** 20, limit: 600, unit: 'MiB' }
  ]
}
