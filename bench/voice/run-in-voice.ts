import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const FOLDER = new URL('../../packages/voice/bench/', import.meta.url)

/**
 * Runs a program of the own bench of `@svc/voice`, which measures what other packages cannot import; it prints its results.
 * @throws an Error if it fails
 */
export async function runInVoice(program: string, args: readonly string[]): Promise<void> {
  // Always on the sources, parts of which it measures.
  const flags = ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning']
  const script = fileURLToPath(new URL(program, FOLDER))
  const child = spawn(process.execPath, [...flags, script, ...args], { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${program} failed`)
}
