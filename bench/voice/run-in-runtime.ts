import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const FOLDER = new URL('../../packages/runtime/bench/', import.meta.url)

/**
 * Runs a program of the runtime's own bench, which measures what other packages cannot import; it prints its results.
 * @throws an Error if it fails
 */
export async function runInRuntime(program: string, args: readonly string[]): Promise<void> {
  const flags = ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning']
  const script = fileURLToPath(new URL(program, FOLDER))
  const child = spawn(process.execPath, [...flags, script, ...args], { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${program} failed`)
}
