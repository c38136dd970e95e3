import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { codeBlocks, curlsOf, installsOf, type CodeBlock } from './helpers/code-blocks.ts'
import { startRegistry } from './helpers/local-registry.ts'
import { freePort, start, untilUp } from './helpers/shell.ts'

const ROOT = resolve(import.meta.dirname, '..')
const bin = (name: string) => join(ROOT, 'node_modules/.bin', name)
const README = 'packages/a2a/README.md'

t.setTimeout(180_000)

/** Packs a package as it would be published. */
async function pack(name: string, folder: string): Promise<string> {
  const cwd = join(ROOT, 'packages', name)
  const run = (program: string, ...args: string[]) =>
    promisify(execFile)('env', ['-u', 'NODE_OPTIONS', program, ...args], { cwd })
  await run(bin('tsc'), '-b')
  const tarball = join(folder, `${name}.tgz`)
  await run(bin('pnpm'), 'pack', '--out', tarball)
  return tarball
}

t.test('@svc/a2a alone, as its README has it installed', async (t) => {
  const home = t.testdir({
    packed: {},
    npm: {},
    pnpm: {},
    '.curlrc': 'silent\nfail-with-body\nmax-time = 20\n'
  })
  const packed = join(home, 'packed')
  const registry = await startRegistry(t, [await pack('registry', packed), await pack('a2a', packed)], packed)
  const wanted = installsOf(README)
  t.same(wanted, ['@svc/a2a', 'fastify'])
  const shared = [`--registry=${registry}`]
  const installers: [name: string, command: string[]][] = [
    [
      'npm',
      ['npm', 'install', '--strict-peer-deps', '--no-audit', '--no-fund', `--cache=${home}/cache`, ...shared]
    ],
    [
      'pnpm',
      [bin('pnpm'), 'add', `--store-dir=${home}/store`, `--config.cache-dir=${home}/metadata`, ...shared]
    ]
  ]
  for (const [name, command] of installers) {
    await t.test(`with ${name}`, async (t) => {
      const cwd = join(home, name)
      writeFileSync(join(cwd, 'package.json'), '{"name":"app","private":true,"type":"module"}')
      const install = start(t, [...command, ...wanted], {
        cwd,
        env: { HOME: home, npm_config_update_notifier: 'false' }
      })
      t.equal(await install.ended, 0, install.output.stdout + install.output.stderr)
      t.notMatch(install.output.stderr, /peer/)

      const port = await freePort()
      const [{ code }] = codeBlocks([README]) as [CodeBlock]
      writeFileSync(join(cwd, 'app.ts'), code.replace('port: 3000', `port: ${port}`))
      const running = start(t, [process.execPath, 'app.ts'], { cwd })
      await untilUp(`http://localhost:${port}`, running)
      const answers: string[] = []
      for (const curl of curlsOf(README)) {
        const asking = start(t, ['bash', '-c', curl.replace(':3000', `:${port}`)], {
          cwd,
          env: { CURL_HOME: home }
        })
        t.equal(await asking.ended, 0)
        answers.push(asking.output.stdout)
      }
      t.match(answers[0], /"skills":\[\{"id":"echo"/)
      t.match(answers[1], /"text":"You said: Hello"/)
      running.child.kill('SIGTERM')
      await running.ended
    })
  }
})
