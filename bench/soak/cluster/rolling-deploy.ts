import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { createBalancer, type Target } from '../../../apps/demo/src/cluster/balancer.ts'
import { followRun } from '../agents/follow-run.ts'
import type { Persistent } from '../agents/service.ts'
import { Random } from '../random.ts'
import { Audit } from './audit.ts'
import { createCluster, type ClusterOptions } from './cluster.ts'
import { compareLogs, type LogFaults } from './logs.ts'
import { ANSWERS } from './runnables.ts'
import { asItIs, type WatchedRun } from './watched-run.ts'

/** What came of replacing all nodes while they are used. */
export interface Deployed {
  readonly runs: number
  readonly served: number
  /** Requests that were refused with `Retry-After`. */
  readonly refused: number
  /** Requests on kept connections that ended meanwhile, which clients repeat by themselves. */
  readonly repeated: number
  /** Requests that failed otherwise. */
  readonly failed: readonly string[]
  readonly logs: LogFaults
  readonly stuck: readonly string[]
}

// Milliseconds between two looks at whether a node takes requests.
const LOOK = 50

/** Replaces the nodes of a cluster one by one behind a balancer, while clients start, read and list runs. */
export async function deployUnderLoad(options: ClusterOptions, clients: number): Promise<Deployed> {
  const cluster = createCluster(options)
  const ready = new Set<string>()
  const balancer = createBalancer(() => cluster.nodes.flatMap(({ url }) => toTarget(url, ready)))
  const looking = setInterval(() => {
    for (const { url } of cluster.nodes) if (url !== undefined) void look(url, ready)
  }, LOOK)
  try {
    await Promise.all(cluster.nodes.map((node) => node.start()))
    const audit = await Audit.begin(options.postgres.url)
    await once(balancer.listen(0, '127.0.0.1'), 'listening')
    const origin = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`
    while (ready.size < cluster.nodes.length) await pause(LOOK)
    const load = new Load(origin)
    const loading = Promise.all(Array.from({ length: clients }, (_, index) => load.repeat(index)))
    for (const node of cluster.nodes) {
      await pause(500)
      await node.terminate()
      await node.start()
      while (!ready.has(node.url!)) await pause(LOOK)
    }
    load.isOver = true
    await loading
    load.close()
    const { watched, served, refused, repeated, failed } = load
    const logs = compareLogs(watched, await audit.parts())
    return { runs: watched.length, served, refused, repeated, failed, logs, stuck: await audit.stuck() }
  } finally {
    clearInterval(looking)
    balancer.close()
    await cluster.close()
  }
}

class Load {
  readonly #origin: string
  readonly #agent = new Agent({ keepAlive: true })
  readonly watched: WatchedRun[] = []
  readonly failed: string[] = []
  served = 0
  refused = 0
  repeated = 0
  isOver = false

  constructor(origin: string) {
    this.#origin = origin
  }

  /** One client, which does one thing after the other. */
  async repeat(seed: number): Promise<void> {
    const random = new Random(seed)
    while (!this.isOver) {
      await this.#send('POST', '/api/agents/brief/run', {}, { input: 'Go.' })
      await this.#send('GET', '/api/runs?limit=5')
      await this.#watch(random)
    }
  }

  /** Ends the connections, once all clients are done. */
  close(): void {
    this.#agent.destroy()
  }

  async #watch(random: Random): Promise<void> {
    const started = await this.#send(
      'POST',
      '/api/workflows/flow/run',
      { prefer: 'respond-async' },
      { input: 'Go.' }
    )
    if (started === undefined) return
    const { runId } = JSON.parse(started) as { runId: string }
    const received: string[] = []
    const onPart = (_part: unknown, json: string) => received.push(json)
    const faults: string[] = []
    await followRun(this.#reach, runId, { random, onPart, patience: 4_000 }).catch((err: Error) =>
      faults.push(err.message)
    )
    const readings = [{ formOf: asItIs, received, times: [] }]
    this.watched.push({ name: 'flow', runId, answer: ANSWERS.flow, readings, faults })
  }

  // A stream that ends before its run is resumed.
  get #reach(): Persistent {
    return {
      persist: async (act) => {
        for (let attempt = 0; ; attempt++)
          try {
            return await act(this.#origin)
          } catch (err) {
            if (attempt === 100) throw err
            await pause(100)
          }
      }
    }
  }

  // The answer, unless it was refused; the client then does as `Retry-After` says.
  async #send(method: string, path: string, more = {}, body?: object): Promise<string | undefined> {
    const json = body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }
    for (;;) {
      const sent = request(this.#origin + path, { method, agent: this.#agent, headers: { ...more, ...json } })
      sent.end(body && JSON.stringify(body))
      try {
        return await this.#receive(sent, `${method} ${path}`)
      } catch (err) {
        if (!sent.reusedSocket) {
          this.failed.push(`${method} ${path}: ${(err as Error).message}`)
          return undefined
        }
        this.repeated++
      }
    }
  }

  async #receive(sent: ClientRequest, what: string): Promise<string | undefined> {
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const answer = await text(response)
    const { statusCode = 0, headers } = response
    if (statusCode < 300) {
      this.served++
      return answer
    }
    if (statusCode === 503 && headers['retry-after'] !== undefined) {
      this.refused++
      await pause(Math.min(1_000, Number(headers['retry-after']) * 1_000))
    } else this.failed.push(`${what}: ${statusCode} ${answer}`)
    return undefined
  }
}

function toTarget(url: string | undefined, ready: ReadonlySet<string>): Target[] {
  return url === undefined ? [] : [{ port: Number(new URL(url).port), isReady: ready.has(url) }]
}

async function look(url: string, ready: Set<string>): Promise<void> {
  const isReady = await fetch(`${url}/api/readyz`).then(
    ({ ok, body }) => body!.cancel().then(() => ok),
    () => false
  )
  if (isReady) ready.add(url)
  else ready.delete(url)
}
