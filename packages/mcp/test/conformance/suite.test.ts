import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { REVISIONS } from '../helpers/mcp-app.ts'
import { FAILED_CHECKS, NOT_APPLICABLE } from './not-applicable.ts'

const SUITE = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js'
)
const SERVICE = fileURLToPath(new URL('../helpers/conformance-service.ts', import.meta.url))

/** Runs the suite in a directory of its own, where it leaves its results, and returns what it prints. */
async function runSuite(cwd: string, url: string, revision: string): Promise<string> {
  const suite = spawn(process.execPath, [SUITE, 'server', '--url', url, '--requirements', revision], { cwd })
  let output = ''
  for (const stream of [suite.stdout, suite.stderr]) stream.on('data', (text) => (output += String(text)))
  await once(suite, 'close')
  return output
}

t.setTimeout(180_000)

for (const revision of REVISIONS)
  void t.test(
    `${revision}: the official suite passes, but for what does not apply`,
    { timeout: 180_000 },
    async (t) => {
      const service = spawn(process.execPath, ['--conditions=@svc/source', SERVICE], {
        stdio: ['ignore', 'pipe', 'inherit']
      })
      const cwd = await mkdtemp(join(tmpdir(), 'mcp-conformance-'))
      t.teardown(async () => {
        service.kill('SIGKILL')
        await rm(cwd, { recursive: true, force: true })
      })
      const [port] = (await once(service.stdout, 'data')) as [Buffer]
      const output = await runSuite(cwd, `http://127.0.0.1:${String(port).trim()}/mcp`, revision)
      const results = [...output.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm)]
      t.ok(results.length >= 30, 'the suite has run')
      for (const [line, mark, scenario = '', , failed] of results) {
        const reason = NOT_APPLICABLE[scenario]
        if (reason === undefined) t.equal(mark, '✓', line)
        else t.equal(Number(failed), FAILED_CHECKS[scenario] ?? 1, `${scenario} does not apply: ${reason}`)
      }
    }
  )
