import autocannon from 'autocannon'
import type { ServerProcess } from './server-process.ts'

/** What one round of load showed. Times are milliseconds, CPU is microseconds a request. */
export interface Round {
  /** As fast as the server answers. */
  perSecond: number
  p50: number
  p99: number
  cpuFull: number
  /** At the same number of requests a second for every server. */
  cpuPaced: number
}

/** The request that is sent again and again. */
export interface LoadRequest {
  path: string
  body: object
  headers?: Record<string, string>
}

const CONNECTIONS = 50
/** In a body, what is another text in every request. */
export const UNIQUE = '[<id>]'
/** In a body, what is another text in the requests of each connection. */
export const OWN = '[<own>]'

/**
 * Sends so many requests as fast as the server answers, then a quarter of them at a fixed rate. A server at its limit is
 * spared wake-ups that a faster one, waiting for the client, pays for: only at one rate do CPU times compare.
 * @throws when one is not answered with 200
 */
export async function load(
  server: ServerProcess,
  request: LoadRequest,
  amount: number,
  rate: number
): Promise<Round> {
  const full = await send(server, request, amount)
  const paced = await send(server, request, Math.ceil(amount / 4), rate)
  return { ...full, cpuFull: full.cpu, cpuPaced: paced.cpu }
}

/** Sends so many requests, at a rate a second or as fast as the server answers. @throws when one is not answered with 200 */
export async function send(server: ServerProcess, request: LoadRequest, amount: number, rate?: number) {
  const body = JSON.stringify(request.body)
  const before = server.cpu()
  const startedAt = performance.now()
  let endedAt = startedAt
  let clients = 0
  const options = {
    url: server.url + request.path,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...request.headers },
    body,
    idReplacement: body.includes(UNIQUE),
    connections: CONNECTIONS,
    amount,
    setupClient: (client: autocannon.Client) => client.setBody(body.replaceAll(OWN, String(++clients))),
    ...(rate !== undefined && { overallRate: rate })
  } as const
  const spin = spinning()
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const sending = autocannon(options, (err, all) => (err ? reject(err) : resolve(all)))
    // It reads its clock only once a second: the last answer shows the real duration.
    sending.on('response', () => (endedAt = performance.now()))
  })
  spin.stop()
  const seconds = (endedAt - startedAt) / 1000
  const cpu = server.cpu() - before
  if (result.non2xx > 0 || result.errors > 0 || result['2xx'] !== amount)
    throw new Error(`${server.variant}: ${result['2xx']} of ${amount} requests were answered with 200`)
  const { p50, p99 } = result.latency
  return { perSecond: amount / seconds, p50, p99, cpu: cpu / amount }
}

function spinning() {
  let immediate: NodeJS.Immediate
  const again = () => (immediate = setImmediate(again))
  again()
  return { stop: () => clearImmediate(immediate) }
}
