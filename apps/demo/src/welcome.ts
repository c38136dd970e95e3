import { join, resolve } from 'node:path'
import { addressOf } from './address.ts'
import type { Env } from './env.ts'

/** What the demo says once it listens: what runs where, and commands that can be pasted into a shell. */
export function welcome({ DATA_DIR, HOST, PORT }: Env, label: string): string {
  const base = `http://${addressOf(HOST, PORT)}/api`
  return `
The agent transport service is up.

  model   ${label}
  data    ${join(resolve(DATA_DIR), 'app.db')}
  base    ${base}

Ask something about this service:

  ${post(`${base}/agents/assistant/run`, { input: 'How do I resume a stream?', sessionId: 'first-steps' })}

Ask in the same session, and see the answer as it is written:

  ${post(`${base}/agents/assistant/stream`, { input: 'What did I ask you before? And what is 12 * (3+4)?', sessionId: 'first-steps' }, '-N')}

See which agents there are, and the runs so far:

  curl -s ${base}/agents
  curl -s ${base}/runs

Stop with Ctrl+C.
`
}

/** A request as a line for a shell. */
export function post(url: string, body: object, flag = '-s'): string {
  return `curl ${flag} ${url} -H 'content-type: application/json' -d '${JSON.stringify(body)}'`
}
