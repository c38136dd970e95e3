import { readdirSync, rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import realtime from '@svc/realtime'
import registry from '@svc/registry'
import Fastify, { type FastifyInstance } from 'fastify'
import { activeTimers } from '../finding.ts'
import { listeners, processes, until, useTemporaryFolder } from '../leftovers.ts'
import { Random } from '../random.ts'
import { RoughClient } from './client.ts'
import { createPhones } from './phones.ts'

/** What happens to a call. */
type Misfortune = (client: RoughClient, app: FastifyInstance, random: Random) => Promise<unknown>

const QUESTION = 'What now?'
const FAILED = 'conversation.item.input_audio_transcription.failed'
const answered = async (client: RoughClient) => {
  const done = client.next('response.done', FAILED)
  await client.say(QUESTION)
  await done
}
/** Cuts in somewhere between the question and the end of its answer. */
const inBetween = async (client: RoughClient, random: Random) => {
  const asked = client.say(QUESTION)
  await pause(random.below(1_500))
  return asked
}

const MISFORTUNES: Readonly<Record<string, Misfortune>> = {
  'hangs up': async (client) => {
    await answered(client)
    await client.hangUp()
  },
  'hangs up in between': async (client, _app, random) => {
    const asked = inBetween(client, random)
    await pause(random.below(800))
    await client.hangUp()
    await asked
  },
  'is cut': async (client, _app, random) => {
    const asked = inBetween(client, random)
    await pause(random.below(800))
    client.cut()
    await asked
  },
  'is cut and comes back': async (client, _app, random) => {
    const asked = inBetween(client, random)
    await pause(random.below(400))
    client.cut()
    await client.connect()
    await asked
    await answered(client)
    await client.hangUp()
  },
  'is canceled': async (client, app, random) => {
    const asked = inBetween(client, random)
    await pause(random.below(800))
    const run = await app.runs.find(client.callId)
    await app.runs.cancel(run!.runId)
    await asked
  },
  interrupts: async (client) => {
    const speaking = client.next('response.output_audio.delta', 'response.done', FAILED)
    await client.say(QUESTION)
    // A phone that does not speak cannot be interrupted.
    const cleared = (await speaking).type.endsWith('delta') && client.next('output_audio_buffer.cleared')
    await client.say('Stop')
    await cleared
    await client.hangUp()
  },
  'is too fast': async (client) => {
    const refused = client.next('error')
    for (let frame = 0; frame < 250; frame++) client.append(new Int16Array(1_600))
    await refused
    await client.hangUp()
  }
}

/** What was observed. */
export interface Abuse {
  readonly counts: ReadonlyMap<string, number>
  readonly faults: readonly string[]
  /** What is left once all calls have ended. */
  readonly left: Readonly<Record<string, number>>
}

/** Calls voice agents `count` times, `batch` at once: each call meets a misfortune, and the models of some do not work. */
export async function abuseCalls(count: number, seed: number, batch: number): Promise<Abuse> {
  const random = new Random(seed)
  const folder = useTemporaryFolder()
  const phones = await createPhones()
  const counts = new Map<string, number>()
  const faults: string[] = []
  const app = Fastify()
  await app.register(registry, { drainTimeout: 50 })
  await app.register(realtime, { prefix: '/v1', agents: phones, reconnectGrace: 300 })
  const url = (await app.listen({ port: 0, host: '127.0.0.1' })).replace('http', 'ws')

  const callOnce = async () => {
    const { name } = random.pick(phones)
    const what = random.pick(Object.keys(MISFORTUNES))
    const client = new RoughClient(`${url}/v1/realtime?model=${name}`)
    const outcome = await meet(client, app, random, what)
    const line = `${name} ${what}: ${outcome}`
    counts.set(line, (counts.get(line) ?? 0) + 1)
    if (outcome !== 'ended' && name === 'sound') faults.push(line)
  }

  try {
    const before = measure(folder)
    let started = 0
    const worker = async () => {
      while (started++ < count) await callOnce()
    }
    await Promise.all(Array.from({ length: batch }, worker))
    await until(() => app.runs.active === 0 && measure(folder).timers <= before.timers)
    const runs = app.runs.active
    const after = measure(folder)
    await app.close()
    await until(() => listeners() === 0)
    const left = Object.entries(after).map(([what, value]) => [what, value - before[what as keyof Measured]])
    return { counts, faults, left: { runs, ...Object.fromEntries(left), servers: listeners() } }
  } finally {
    await app.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

type Measured = Record<'timers' | 'sockets' | 'processes' | 'files' | 'handlers', number>

function measure(folder: string): Measured {
  const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap')
  const handlers = process.eventNames().map((name) => process.listenerCount(name))
  return {
    timers: activeTimers(),
    sockets: sockets.length,
    processes: processes().filter(({ parent }) => parent === process.pid).length,
    files: readdirSync(folder).length,
    handlers: handlers.reduce((sum, each) => sum + each, 0)
  }
}

/** What became of a call; `ended` as it was meant to. */
async function meet(
  client: RoughClient,
  app: FastifyInstance,
  random: Random,
  what: string
): Promise<string> {
  try {
    await client.connect()
    await MISFORTUNES[what]!(client, app, random)
    return 'ended'
  } catch (err) {
    return (err as Error).message
  } finally {
    client.cut()
  }
}
