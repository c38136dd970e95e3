import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createRunEngine, isTerminalStatus } from '@svc/registry'
import { createStore } from '@svc/store'
import type { Finding } from './finding.ts'

/** Kills a service at random moments while it works: what it had acknowledged must be there, and nothing stuck. */
export async function soakKills(count: number): Promise<Finding[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kills-'))
  const url = `sqlite:${join(folder, 'kills.db')}`
  let lost = 0
  let stuck = 0
  let acknowledged = 0
  for (let round = 0; round < count; round++) {
    const known = await workUntilKilled(url, 20 + Math.random() * 200)
    acknowledged += known.length
    const store = await createStore({ url })
    const engine = createRunEngine({ stores: store })
    await engine.recover()
    for (const runId of known) {
      const run = await engine.get(runId)
      if (run === undefined) lost++
      else if (!isTerminalStatus(run.status)) stuck++
    }
    await engine.close()
    await store.close()
  }
  rmSync(folder, { recursive: true, force: true })
  return [
    { what: `acknowledged runs lost, of ${acknowledged} in ${count} kills`, value: lost, limit: 0, unit: '' },
    { what: 'runs that stay under way', value: stuck, limit: 0, unit: '' }
  ]
}

// The ids of the runs that the service said it had taken.
async function workUntilKilled(url: string, ms: number): Promise<string[]> {
  const script = fileURLToPath(new URL('worker.ts', import.meta.url))
  const args = ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning', script, url]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const known: string[] = []
  const lines = createInterface({ input: child.stdout! })
  lines.once('line', () => setTimeout(() => child.kill('SIGKILL'), ms))
  lines.on('line', (runId) => known.push(runId))
  await Promise.all([once(child, 'exit'), once(lines, 'close')])
  return known
}
