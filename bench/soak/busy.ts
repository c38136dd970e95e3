import { setTimeout as pause } from 'node:timers/promises'
import type { WhenBusy } from '@svc/registry'
import { startPostgres } from '@tools/postgres'
import { BusyService, type BusyStore } from './busy/busy-service.ts'
import { faultsOf, hasJoined, NO_FAULTS, type BusyFaults, type SentMessage } from './busy/busy-faults.ts'
import type { Finding } from './finding.ts'
import { Random } from './random.ts'

/** Sessions to which several messages come at once. */
export interface BusyLoad {
  readonly store: BusyStore
  readonly whenBusy: WhenBusy
  readonly sessions: number
  /** At once. */
  readonly batch: number
  /** Decides all else. */
  readonly seed: number
}

/** What came of the messages. */
export interface BusyReport extends BusyFaults {
  messages: number
  joined: number
  refused: number
  canceled: number
}

const VALUES = ['queue', 'reject', 'steer', 'interrupt', 'replace'] as const

/** Sends two to five messages to each of many sessions, over three surfaces, and compares what the model saw with what was accepted. */
export async function fillSessions(load: BusyLoad): Promise<BusyReport> {
  const report = { ...NO_FAULTS, messages: 0, joined: 0, refused: 0, canceled: 0 }
  const service = await BusyService.open(load.store)
  try {
    for (let done = 0; done < load.sessions; done += load.batch) {
      const count = Math.min(load.batch, load.sessions - done)
      const playing = Array.from({ length: count }, async (_, at) => {
        const random = new Random(load.seed + (done + at) * 7_919)
        await play(service, `s${done + at}`, load.whenBusy, random, report)
      })
      await Promise.all(playing)
    }
  } finally {
    await service.close()
  }
  return report
}

async function play(
  service: BusyService,
  session: string,
  whenBusy: WhenBusy,
  random: Random,
  report: BusyReport
): Promise<void> {
  const sent: SentMessage[] = []
  const send = async (group: number, value: WhenBusy) => {
    const id = `${session}.${sent.length}`
    const message: SentMessage = { id, group, accepted: undefined, ackAt: 0, run: undefined }
    sent.push(message)
    const text = `${id} ${random.below(5)} ${random.chance(0.5) ? 'tool' : 'text'}`
    message.accepted = await service.send(session, text, value, random)
    message.ackAt = service.tick()
  }
  await send(0, 'queue')
  const more = random.below(4) + 1
  for (let group = 1; sent.length <= more; group++) {
    await pause(random.below(15))
    // Of messages that are sent at once none is the first.
    const atOnce = random.chance(0.25) && sent.length < more ? 2 : 1
    await Promise.all(Array.from({ length: atOnce }, () => send(group, whenBusy)))
  }
  for (const message of sent) {
    const { runId } = message.accepted!
    if (runId === undefined) report.refused++
    else message.run = await service.ended(runId)
    if (hasJoined(message)) report.joined++
    else if (message.run?.status === 'canceled') report.canceled++
  }
  report.messages += sent.length
  const faults = faultsOf(sent, service.calls.get(session) ?? [], whenBusy)
  for (const name of Object.keys(faults) as (keyof BusyFaults)[]) {
    report[name] += faults[name]
    if (faults[name] > 0) console.log(`${session}, ${whenBusy}: ${faults[name]} ${name}`)
  }
  service.calls.delete(session)
}

/** Each of the five values, in memory and on two nodes of Postgres. */
export async function soakBusy(count: number, seed: number): Promise<Finding[]> {
  const server = await startPostgres()
  const findings: Finding[] = []
  try {
    for (const whenBusy of VALUES) {
      const sum: BusyReport = { ...NO_FAULTS, messages: 0, joined: 0, refused: 0, canceled: 0 }
      for (const store of ['memory', { postgres: server.url }] as const) {
        const report = await fillSessions({ store, whenBusy, sessions: count / 2, batch: 25, seed })
        for (const name of Object.keys(sum) as (keyof BusyReport)[]) sum[name] += report[name]
      }
      const { messages, joined, refused, canceled, ...faults } = sum
      console.log(
        `${whenBusy}: ${messages} messages to ${count} sessions, ${joined} joined, ${refused} refused, ${canceled} runs canceled`
      )
      for (const [what, value] of Object.entries(faults))
        findings.push({ what: `${whenBusy}: ${what}`, value, limit: 0, unit: 'of the messages' })
    }
    console.log(`seed ${seed}`)
    return findings
  } finally {
    await server.stop()
  }
}
