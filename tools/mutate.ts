import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { findMutants, type Mutant } from './mutation/mutants.ts'
import { relatedTests } from './mutation/related-tests.ts'

const USAGE = `node tools/mutate.ts [--count 60] [--seed 1] [--only packages/http] [--jobs 2]
Plants faults in the sources, one at a time and spread over all packages, and runs tests until one turns red.
A fault that none notices is printed as SURVIVED. The tree must be clean.`

const TIMEOUT = 180_000
/** Sources that have no behaviour to test: doubles and suites for tests, and texts of errors. */
const EXCLUDED = /\/testing\/|\/errors\.ts$|\/index\.ts$|\/migrations\//

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    only: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    help: { type: 'boolean', default: false }
  }
})
if (values.help) {
  console.log(USAGE)
  process.exit()
}
if (execFileSync('git', ['status', '--porcelain', '--', 'packages', 'apps'], { encoding: 'utf8' }) !== '')
  throw new Error('packages and apps have changes: commit them first')

const random = createRandom(Number(values.seed))
const packages = values.only ? [values.only] : [...globSync('packages/*'), 'apps/demo'].toSorted()
console.log(`seed ${values.seed}`)
let survived = 0
for (let index = 0; index < Number(values.count); index++) {
  const { path, source, mutant } = pick(packages[index % packages.length]!)
  const killer = await plant(path, source, mutant)
  const line = source.slice(0, mutant.start).split('\n').length
  if (killer === undefined) survived++
  console.log(
    `${killer === undefined ? 'SURVIVED' : 'killed  '} ${path}:${line}  ${mutant.what}  ${killer ?? ''}`
  )
}
console.log(`${Number(values.count) - survived} killed, ${survived} survived (seed ${values.seed})`)
process.exitCode = survived === 0 ? 0 : 1

function pick(folder: string): { path: string; source: string; mutant: Mutant } {
  const files = globSync(`${folder}/src/**/*.ts`)
    .filter((path) => !EXCLUDED.test(path))
    .toSorted()
  for (;;) {
    const path = files[random(files.length)]!
    const source = readFileSync(path, 'utf8')
    const mutants = findMutants(path, source)
    if (mutants.length > 0) return { path, source, mutant: mutants[random(mutants.length)]! }
  }
}

/** Gives the test that notices. */
async function plant(
  path: string,
  source: string,
  { start, end, text }: Mutant
): Promise<string | undefined> {
  const restore = () => writeFileSync(path, source)
  process.once('exit', restore)
  try {
    writeFileSync(path, source.slice(0, start) + text + source.slice(end))
    return await firstRed(relatedTests(path))
  } finally {
    restore()
    process.off('exit', restore)
  }
}

async function firstRed(tests: string[]): Promise<string | undefined> {
  const running = new Set<AbortController>()
  let red: string | undefined
  const work = async () => {
    for (let test = tests.shift(); test !== undefined && red === undefined; test = tests.shift()) {
      const stop = new AbortController()
      running.add(stop)
      const isGreen = await passes(test, stop.signal)
      running.delete(stop)
      if (isGreen || red !== undefined) continue
      red = test
      for (const each of running) each.abort()
    }
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, work))
  return red
}

async function passes(test: string, signal: AbortSignal): Promise<boolean> {
  const flags = ['--conditions=@svc/source', '--disable-warning=ExperimentalWarning']
  const child = spawn(process.execPath, [...flags, test], { stdio: 'ignore', detached: true })
  // Its children go with it.
  const kill = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch (err) {
      // It has just ended.
      if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err
    }
  }
  const timer = setTimeout(kill, TIMEOUT)
  signal.addEventListener('abort', kill)
  const [code] = (await once(child, 'exit')) as [number | null]
  clearTimeout(timer)
  signal.removeEventListener('abort', kill)
  return code === 0
}

/** Numbers below a limit, the same for the same seed (mulberry32). */
function createRandom(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
}
