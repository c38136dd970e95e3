import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { chromium, type ChromiumOptions } from '@svc/browser'
import { CHROMIUM, needsChromium } from '../helpers/chromium.ts'
import { deskOptions } from '../helpers/desk-options.ts'
import { browserPids, useTemporaryFolder } from '../helpers/processes.ts'

const temporaryFiles = useTemporaryFolder(t)

/** A program in place of Chromium. */
async function program(t: Test, script: string): Promise<string> {
  const path = join(t.testdir({}), 'program')
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  return path
}

async function refusal(options: ChromiumOptions): Promise<Error & { code?: string }> {
  const browser = chromium({ sandbox: false, ...options })
  return browser.open(deskOptions()).then(
    () => Promise.reject(new Error('it started')),
    (err: Error) => err
  )
}

t.test('a program that is not there is named, and what to install', async (t) => {
  const err = await refusal({ executablePath: '/no/such/chromium' })
  t.match(err, { code: 'RUN_ERR_BROWSER_MISSING', message: '/no/such/chromium' })
  t.match(err.message, 'Debian package chromium-headless-shell')
})

t.test('a program that does not become a browser fails in bounded time, and leaves nothing', async (t) => {
  const cases: [string, string, string][] = [
    ['ends with an error', 'echo PASSWORD=canary >&2; exit 1', 'its process ends'],
    ['ends without one', 'exit 0', 'its process ends'],
    ['says nothing', 'exec sleep 60', 'did not start within 300 ms'],
    ['ignores signals', "trap '' TERM INT; while :; do sleep 60; done", 'did not start within 300 ms'],
    ['closes its pipes', 'exec 3>&- 4>&-; exec sleep 60', 'did not start within 300 ms'],
    ['answers nonsense', 'printf "nonsense\\0" >&4; exec sleep 60', 'its process ends'],
    ['answers null', 'printf "null\\0" >&4; exec sleep 60', 'its process ends'],
    ['answers what was not asked', `printf '{"id":9,"result":{}}\\0' >&4; exec sleep 60`, 'its process ends'],
    ['answers with zeros without end', 'exec cat /dev/zero >&4', 'its process ends']
  ]
  for (const [name, script, message] of cases) {
    const err = await refusal({ executablePath: await program(t, script), launchTimeout: 300 })
    t.match(err, { code: 'RUN_ERR_BROWSER_FAILED', message }, name)
    t.notMatch(err.message, 'canary')
    t.same(browserPids(), [], name)
  }
  t.same(temporaryFiles(), [])
})

t.test('a file that is no program of this system is reported', async (t) => {
  const path = join(t.testdir({}), 'program')
  await writeFile(path, 'neither a script nor a binary\0')
  await chmod(path, 0o755)
  t.match(await refusal({ executablePath: path }), { code: 'RUN_ERR_BROWSER_FAILED' })
  t.match(await refusal({ executablePath: t.testdir({}) }), { code: 'RUN_ERR_BROWSER_MISSING' })
})

t.test('a system without a temporary folder is reported', async (t) => {
  const { TMPDIR } = process.env
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
  })
  process.env['TMPDIR'] = join(t.testdir({}), 'gone')
  const err = await refusal({ executablePath: process.execPath })
  t.match(err, { code: 'RUN_ERR_BROWSER_FAILED', message: 'its temporary folder cannot be created' })
})

t.test('a start that is interrupted is repeated once', needsChromium, async (t) => {
  const counter = join(t.testdir({}), 'counter')
  const script = `if [ ! -e ${counter} ]; then touch ${counter}; kill -9 $$; fi; exec ${CHROMIUM} "$@"`
  const browser = chromium({ sandbox: false, executablePath: await program(t, script) })
  t.teardown(() => browser.close())
  await (await browser.open(deskOptions())).close()
})

/** A Chromium that is killed each time it is to open a tab, for a number of times. */
async function crashingChromium(t: Test, times: number) {
  const folder = t.testdir({
    crashes: '',
    'crashing.mjs': `#!${process.execPath}
      import { spawn } from 'node:child_process'
      import { appendFileSync, createReadStream, createWriteStream, readFileSync } from 'node:fs'
      const crashes = new URL('crashes', import.meta.url)
      const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']
      const browser = spawn(${JSON.stringify(CHROMIUM)}, process.argv.slice(2), { stdio })
      createReadStream(null, { fd: 3 }).on('data', (chunk) => {
        const isDue = chunk.includes('Target.createTarget') && readFileSync(crashes).length < ${times}
        if (!isDue) return browser.stdio[3].write(chunk)
        appendFileSync(crashes, '.')
        process.kill(0, 'SIGKILL')
      })
      browser.stdio[4].pipe(createWriteStream(null, { fd: 4 }))`
  })
  const executablePath = join(folder, 'crashing.mjs')
  await chmod(executablePath, 0o755)
  const browser = chromium({ sandbox: false, executablePath })
  t.teardown(() => browser.close())
  return { browser, crashes: async () => (await readFile(join(folder, 'crashes'))).length }
}

t.test('a desk opens though the browser crashes several times meanwhile', needsChromium, async (t) => {
  const { browser, crashes } = await crashingChromium(t, 4)
  const desk = await browser.open(deskOptions())
  t.equal(await crashes(), 4)
  t.match(await desk.look(), { url: 'about:blank' })
})

t.test('a browser that crashes whenever it opens a page is given up', needsChromium, async (t) => {
  const { browser, crashes } = await crashingChromium(t, Infinity)
  await t.rejects(browser.open(deskOptions()), {
    code: 'RUN_ERR_BROWSER_FAILED',
    message: 'it opens no page'
  })
  t.equal(await crashes(), 5)
})

t.test('the browser gets none of the variables of the app', needsChromium, async (t) => {
  const variables = join(t.testdir({}), 'variables')
  process.env['SECRET_OF_THE_APP'] = 'known to the app only'
  t.teardown(() => delete process.env['SECRET_OF_THE_APP'])
  await refusal({ executablePath: await program(t, `env > ${variables}; exit 1`) })
  const given = await readFile(variables, 'utf8')
  t.match(given, /^HOME=/m)
  t.notMatch(given, /SECRET_OF_THE_APP|known to the app only/)
  t.notMatch(given, `HOME=${process.env['HOME']}\n`)
})

t.test(
  'for root the sandbox option is named',
  { skip: process.getuid?.() !== 0 && 'the user is not root' },
  async (t) => {
    t.match(await refusal({ sandbox: true }), { code: 'RUN_ERR_BROWSER_FAILED', message: 'sandbox: false' })
  }
)

t.test('an endpoint that does not respond fails in bounded time', async (t) => {
  const browser = chromium({ connect: 'ws://127.0.0.1:1/devtools', launchTimeout: 2_000 })
  await t.rejects(browser.open(deskOptions()), { code: 'RUN_ERR_BROWSER_FAILED', message: 'CDP endpoint' })
})
