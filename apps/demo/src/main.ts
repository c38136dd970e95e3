import { mkdirSync } from 'node:fs'
import type { RunEngine, RunSummary } from '@svc/registry'
import { findChromium } from '@svc/browser'
import { buildApp } from './app.ts'
import { createDemoAuth } from './auth/demo-auth.ts'
import { claimPort } from './claim-port.ts'
import { readEnv, type Env } from './env.ts'
import { chooseModel } from './models/choose-model.ts'
import { chooseVoice } from './voice/choose-voice.ts'
import { welcome } from './welcome.ts'

/** Milliseconds for closing before the process exits anyway. */
const CLOSE_WITHIN = 8_000

try {
  await start(readEnv(process.env))
} catch (err) {
  console.error(`The demo cannot start: ${explain(err)}`)
  process.exit(1)
}

async function start(env: Env): Promise<void> {
  const { model, label } = await chooseModel(env)
  const voice = await chooseVoice(env)
  const chromium = await findChromium().then(
    (path) => ({ path }),
    (err: Error) => ({ missing: err.message })
  )
  const { port, release } = await claimPort(env.HOST, env.PORT)
  const settled = { ...env, PORT: port }
  mkdirSync(env.DATA_DIR, { recursive: true })
  const auth = env.DEMO_AUTH ? await createDemoAuth(env.DEMO_SECRET) : undefined
  const app = await buildApp(settled, model, { auth, voice })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop(app))
  await release()
  await app.listen({ host: env.HOST, port })
  const resumed = await resumedRuns(app.runs)
  console.log(welcome(settled, { label, roles: auth?.roles, chromium, voice, resumed }))
}

// Those that an earlier process left in progress, once the others have ended; at most 5.
async function resumedRuns(runs: RunEngine): Promise<RunSummary[]> {
  await runs.recover()
  const states = ['working', 'input-required'] as const
  const pages = await Promise.all(states.map((status) => runs.list({ status, limit: 5 })))
  return pages.flatMap((page) => page.runs).slice(0, 5)
}

function stop(app: { close(): Promise<void> }): void {
  setTimeout(() => process.exit(1), CLOSE_WITHIN).unref()
  app.close().then(
    () => process.exit(0),
    (err: unknown) => {
      console.error(`The demo could not close: ${explain(err)}`)
      process.exit(1)
    }
  )
}

function explain(err: unknown): string {
  const { code, message, port, address, path } = err as NodeJS.ErrnoException & {
    port?: number
    address?: string
  }
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} is taken; choose another with PORT=${(port ?? 3000) + 1}`
    case 'EACCES':
      return port === undefined
        ? `${path ?? 'the data folder'} may not be written`
        : `port ${port} may not be used`
    case 'STO_ERR_IN_USE':
      return 'another one has this data folder; stop it, or choose another folder with DATA_DIR'
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `HOST ${address ?? ''} is no address of this machine`
    case 'ENOTDIR':
    case 'EEXIST':
      return `DATA_DIR ${path ?? ''} is no folder`
    default:
      return message.replaceAll(/\s*\n\s*/g, ' ')
  }
}
