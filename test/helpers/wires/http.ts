import type { NumberedPart, RunRecord } from '@svc/registry'
import http from '@svc/http'
import { readLog, readParts } from './read-log.ts'
import { reportOfLog } from './report-of-log.ts'
import { PICK, type Asked, type Report, type Wire, type WireAdapter, type WireRun } from './wire.ts'

const JSON_BODY = { 'content-type': 'application/json' }

/** Our own API: JSON and server-sent events. */
export const httpWire: WireAdapter = {
  package: '@svc/http',
  async register(app, registry) {
    await app.register(http, { prefix: '/api', registry, clientTools: true })
  },
  connect: async (origin) => [new HttpWire(origin)]
}

class HttpWire implements Wire {
  readonly name = 'HTTP'
  readonly refusal = /: 409 \{.*"code":"RUN_ERR_INPUT_ANSWERED"/
  readonly hides = {}
  readonly #origin: string
  readonly #api: string

  constructor(origin: string) {
    this.#origin = origin
    this.#api = `${origin}/api`
  }

  async start({ kind, name, input, sessionId, callsClient }: WireRun['job'], variant: number) {
    const body = { input, sessionId, onDisconnect: 'continue', ...(callsClient && { tools: [PICK] }) }
    const path = `/${kind}s/${name}`
    if (variant < 0.3) {
      const record = await this.#send<RunRecord>(`${path}/run`, body, { prefer: 'respond-async' })
      return { runId: record.runId, sessionId: record.sessionId }
    }
    const { onDisconnect, ...streamed } = body
    const response = await fetch(`${this.#api}${path}/stream`, {
      method: 'POST',
      headers: JSON_BODY,
      body: JSON.stringify({ ...streamed, onDisconnect })
    })
    const parts = readParts(response)
    const first = (await parts.next()).value as NumberedPart
    if (first?.type !== 'start') throw new Error(`the stream begins with ${JSON.stringify(first)}`)
    return { runId: first.runId, sessionId: first.sessionId, rest: readReport(first, parts) }
  }

  async watch(run: WireRun, isLate: boolean, variant: number): Promise<Partial<Report>> {
    const { runId, hasSession } = run
    const parts: NumberedPart[] = []
    if (hasSession && variant < 0.4) {
      for await (const part of this.#partsOfSession(run)) parts.push(part)
    } else for await (const part of readLog(this.#origin, runId)) parts.push(part)
    const report = reportOfLog(parts)
    if (isLate) this.#requireSame(await this.#record(runId), report)
    return report
  }

  async answer(_run: WireRun, { id, kind, accept, content, args }: Asked): Promise<void> {
    if (kind === 'approval')
      await this.#send(`/approvals/${id}`, { approved: accept, ...(accept && { args }) })
    else await this.#send(`/inputs/${id}`, accept ? { action: 'accept', content } : { action: 'decline' })
  }

  async cancel({ runId }: WireRun): Promise<void> {
    const response = await fetch(`${this.#api}/runs/${runId}/cancel`, { method: 'POST' })
    const { code } = (await response.json()) as { code?: string }
    if (response.status !== 200 && code !== 'RUN_ERR_TERMINAL') throw new Error(`canceled with ${code}`)
  }

  async #record(runId: string): Promise<RunRecord> {
    return (await (await fetch(`${this.#api}/runs/${runId}`)).json()) as RunRecord
  }

  // A session has no end of its own.
  async *#partsOfSession({
    job: { kind, name },
    sessionId,
    runId,
    beyond
  }: WireRun): AsyncGenerator<NumberedPart> {
    await beyond(0)
    const stop = new AbortController()
    try {
      const path = `/sessions/${kind}/${name}/${sessionId}/stream?after=0.0`
      const response = await fetch(this.#api + path, { signal: stop.signal })
      for await (const { runId: of, ...part } of readParts(response) as AsyncIterable<
        NumberedPart & { runId: string }
      >) {
        if (of !== runId) continue
        yield (part.type === 'start' ? { ...part, runId } : part) as NumberedPart
        if ((part.type === 'finish' || part.type === 'error') && !part.source?.length) return
      }
    } finally {
      stop.abort()
    }
  }

  // The record of a run has the same result as its log.
  #requireSame({ status, result, error }: RunRecord, report: Report): void {
    const ofRecord = [status, error?.code, result?.text ?? report.text, result?.usage]
    const ofLog = [report.status, report.code, report.text, report.usage]
    if (JSON.stringify(ofRecord) !== JSON.stringify(ofLog))
      throw new Error(`the record says ${JSON.stringify(ofRecord)}, the log ${JSON.stringify(ofLog)}`)
  }

  async #send<T>(path: string, body: object, headers: Record<string, string> = {}): Promise<T> {
    const init = { method: 'POST', headers: { ...JSON_BODY, ...headers }, body: JSON.stringify(body) }
    const response = await fetch(this.#api + path, init)
    const answer = (await response.json()) as T
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`)
    return answer
  }
}

async function readReport(first: NumberedPart, rest: AsyncIterable<NumberedPart>): Promise<Report> {
  const parts = [first]
  for await (const part of rest) parts.push(part)
  return reportOfLog(parts)
}
