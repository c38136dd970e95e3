import type { FastifyInstance } from 'fastify'
import { buildApp } from '../../apps/demo/src/app.ts'
import { createDemoAuth } from '../../apps/demo/src/auth/demo-auth.ts'
import { claimPort } from '../../apps/demo/src/claim-port.ts'
import { readEnv } from '../../apps/demo/src/env.ts'
import { createOfflineModel } from '../../apps/demo/src/models/offline/offline-model.ts'

/** Milliseconds between two words of the offline model. */
const DELAY = 1

/** The demo, in memory. */
export interface ServedDemo {
  /** The address of the console. */
  readonly page: string
  /** Of an administrator, who sees the health of the process, too. */
  readonly token: string
  /** Starts a run, and returns its id. @param path such as `agents/buyer` */
  start(path: string, body: object): Promise<string>
  /** Resolves once a run has ended. */
  ended(runId: string): Promise<void>
  /** Resolves with the id of the approval that a run waits for. */
  approvalOf(runId: string): Promise<string>
  /** Calls a route of `@svc/http`. */
  send(method: 'POST' | 'PATCH', path: string, body?: object): Promise<void>
  close(): Promise<void>
}

/** Serves the demo with its offline model, on a free port and without a file. */
export async function serveDemo(): Promise<ServedDemo> {
  const env = readEnv({ DATABASE_URL: 'sqlite::memory:', LOG_LEVEL: 'fatal' })
  const { port, release } = await claimPort(env.HOST, 0)
  const auth = await createDemoAuth()
  const { token } = auth.roles.find(({ role }) => role === 'admin')!
  const model = createOfflineModel({ delay: DELAY })
  const app: FastifyInstance = await buildApp({ ...env, PORT: port }, model, { auth })
  await release()
  const origin = await app.listen({ host: env.HOST, port })
  const send = async (method: string, path: string, body: object = {}) => {
    const reply = await fetch(`${origin}/api/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        prefer: 'respond-async',
        'content-type': 'application/json'
      },
      body: JSON.stringify(body)
    })
    if (!reply.ok) throw new Error(`${method} ${path}: ${await reply.text()}`)
    return reply
  }
  return {
    page: `${origin}/`,
    token,
    start: async (path, body) => (await send('POST', `${path}/run`, body)).headers.get('x-run-id')!,
    async ended(runId) {
      for await (const { type, source } of app.runs.parts(runId))
        if (source === undefined && (type === 'finish' || type === 'error')) return
    },
    async approvalOf(runId) {
      for await (const part of app.runs.parts(runId))
        if (part.type === 'tool.approval.request') return part.approvalId
      throw new Error(`run ${runId} has asked for no approval`)
    },
    send: async (method, path, body) => void (await send(method, path, body)),
    close: () => app.close()
  }
}
