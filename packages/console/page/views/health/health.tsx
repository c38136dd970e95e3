import { useState } from 'preact/hooks'
import { ApiError } from '../../api/client.ts'
import { getHealth, getReadiness, type HealthReport, type Readiness } from '../../api/resources.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Fact, Facts } from '../../components/elements.tsx'
import { ErrorNotice } from '../../components/notice.tsx'
import { Ago, formatBytes, formatCount, formatDuration } from '../../components/time.tsx'
import { usePoll } from '../../components/hooks.ts'
import './health.css'

const INTERVAL = 2_000

interface State {
  readonly readiness?: Readiness
  /** Undefined for those who may not administer the service. */
  readonly report?: HealthReport | undefined
  readonly error?: unknown
}

/** `#/health`: how the process that answers is doing, as it goes. */
export function Health() {
  const [{ readiness, report, error }, setState] = useState<State>({})
  const poll = async (signal: AbortSignal) => {
    const state = await read(signal).catch((err: unknown) => ({ error: err }))
    if (!signal.aborted) setState((old) => ('error' in state ? { ...old, ...state } : state))
  }
  usePoll(poll, INTERVAL, [])
  return (
    <>
      <header class="view-head">
        <h1>Health</h1>
        {readiness !== undefined && <State readiness={readiness} report={report} />}
      </header>
      <div class="view-body stack">
        {error !== undefined && <ErrorNotice error={error} />}
        {report !== undefined && <Report report={report} />}
        {readiness !== undefined && report === undefined && (
          <p class="hint">The figures of the process are shown to administrators.</p>
        )}
      </div>
    </>
  )
}

async function read(signal: AbortSignal): Promise<State> {
  const [readiness, report] = await Promise.all([
    getReadiness({ signal }),
    getHealth({ signal }).catch((err: unknown) => {
      if (err instanceof ApiError && (err.status === 403 || err.status === 404)) return undefined
      throw err
    })
  ])
  return { readiness, report }
}

function State({
  readiness: { isReady, message },
  report
}: {
  readiness: Readiness
  report: HealthReport | undefined
}) {
  const status = report === undefined || report.status === 'ok' ? '' : `, ${report.status}`
  return (
    <span class="status" data-status={isReady ? 'completed' : 'failed'} role="status">
      {isReady ? 'Ready' : `Not ready: ${cleanLine(message, 120)}`}
      {status}
    </span>
  )
}

function Report({ report: { uptime, eventLoop, memory, runs, errors } }: { report: HealthReport }) {
  const { waiting } = runs
  return (
    <>
      <section class="card stack">
        <h2>Runs</h2>
        <Facts>
          <Fact name="At once">{formatCount(runs.active)}</Fact>
          <Fact name="Queue">
            {waiting === undefined
              ? 'the store is away'
              : waiting === 100
                ? '100 or more'
                : formatCount(waiting)}
          </Fact>
        </Facts>
      </section>
      <section class="card stack">
        <h2>Process</h2>
        <Facts>
          <Fact name="Up for">{formatDuration(uptime * 1_000)}</Fact>
          <Fact name="Event loop">
            <meter min={0} max={1} high={0.8} value={eventLoop.utilization} aria-label="Event loop" />
            {Math.round(eventLoop.utilization * 100)} %
          </Fact>
          <Fact name="Lag, median">{formatDuration(eventLoop.delayMs.p50)}</Fact>
          <Fact name="Lag, 99th percentile">{formatDuration(eventLoop.delayMs.p99)}</Fact>
          <Fact name="Lag, at most">{formatDuration(eventLoop.delayMs.max)}</Fact>
          <Fact name="Memory">{formatBytes(memory.rss)}</Fact>
          <Fact name="Heap">
            {formatBytes(memory.heapUsed)} of {formatBytes(memory.heapTotal)}
          </Fact>
          <Fact name="Buffers">{formatBytes(memory.external)}</Fact>
        </Facts>
      </section>
      <section class="card stack">
        <h2>Errors</h2>
        {errors.length === 0 ? (
          <p class="hint">None since the start.</p>
        ) : (
          <div class="health-errors" tabIndex={0} role="region" aria-label="Errors by code">
            <table>
              <thead>
                <tr>
                  <th scope="col">Code</th>
                  <th scope="col">Count</th>
                  <th scope="col">Last</th>
                </tr>
              </thead>
              <tbody>
                {errors.map(({ code, count, lastAt }) => (
                  <tr key={code}>
                    <td>
                      <code>{cleanLine(code, 128)}</code>
                    </td>
                    <td>{formatCount(count)}</td>
                    <td>
                      <Ago at={lastAt} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
    </>
  )
}
