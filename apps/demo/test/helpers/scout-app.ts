import { findChromium } from '@svc/browser'
import type { Part, PartOf, RunRecord, RunResult } from '@svc/registry'
import type { Model } from '@svc/runtime'
import type { Test } from 'tap'
import { buildApp } from '../../src/app.ts'
import { claimPort } from '../../src/claim-port.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

const CHROMIUM = await findChromium().catch(() => undefined)

/** For the options of a test that needs Chromium. */
export const needsChromium = { skip: CHROMIUM === undefined && 'no Chromium is installed' }

interface ScoutSettings {
  /** Default: the offline model. */
  model?: Model
}

/** The demo on a port of its own, and the requests that tests send. */
export async function startScout(t: Test, { model }: ScoutSettings = {}) {
  const { port, release } = await claimPort('127.0.0.1', 0)
  await release()
  const env = readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent', PORT: String(port) })
  const app = await buildApp(env, model ?? createOfflineModel({ delay: 0 }))
  t.teardown(() => app.close())
  const origin = await app.listen({ host: '127.0.0.1', port })

  async function request<T>(path: string, body?: object, headers: Record<string, string> = {}): Promise<T> {
    const init = body && {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body)
    }
    return (await (await fetch(`${origin}${path}`, init)).json()) as T
  }
  /** Starts a run that goes on without its client. */
  const begin = (input: string) =>
    request<RunRecord>('/api/agents/scout/run', { input }, { prefer: 'respond-async' })
  /** Waits for the first part of a type of a run. */
  async function partOf<T extends Part['type']>({ runId }: RunRecord, type: T): Promise<PartOf<T>> {
    for await (const part of app.runs.parts(runId)) if (part.type === type) return part as PartOf<T>
    throw new Error(`the run has ended without ${type}`)
  }
  /** Waits until a run asks for an approval, and returns its id. */
  const approvalOf = async (run: RunRecord) => (await partOf(run, 'tool.approval.request')).approvalId
  /** Waits for the end of a run, and returns its result. */
  async function resultOf({ runId }: RunRecord): Promise<RunResult> {
    await Array.fromAsync(app.runs.parts(runId))
    const { result } = await request<{ result: RunResult }>(`/api/runs/${runId}`)
    return result
  }
  return {
    app,
    origin,
    request,
    begin,
    partOf,
    approvalOf,
    resultOf,
    ask: (input: string) => request<RunResult>('/api/agents/scout/run', { input })
  }
}
