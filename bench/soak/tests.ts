import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import type { Finding } from './finding.ts'

/** Runs the test files that have a short form in full. */
export async function soakTests(): Promise<Finding[]> {
  const files = globSync(['{packages,apps}/*/test/**/*.test.ts', 'test/**/*.test.ts']).filter((path) =>
    readFileSync(path, 'utf8').includes("'@tools/wires/volume'")
  )
  const child = spawn(process.execPath, ['tools/tests/main.ts', ...files], {
    env: { ...process.env, FUZZ: '1' },
    stdio: 'inherit'
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return [{ what: `exit of ${files.length} test files in full`, value: code ?? 1, limit: 0, unit: '' }]
}
