import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@tools/postgres'
import t, { type Test } from 'tap'
import { codeBlocks, curlsOf, installsOf, type CodeBlock } from '../helpers/code-blocks.ts'
import { startRegistry } from '../helpers/local-registry.ts'
import { start, untilSaid, untilUp, type Running } from '../helpers/shell.ts'
import { bin, pack } from '../helpers/tarballs.ts'

/** A package that a user installs. */
interface Sample {
  /** Folders of the packages its README installs, itself first. */
  packages: readonly string[]
  wanted: readonly string[]
  /** What its README installs for an option. */
  later?: readonly string[]
  /** Checks the first program of its README, which runs on this port. */
  check(t: Test, running: Running, port: number, home: string): Promise<void>
}

const SAMPLES: readonly Sample[] = [
  {
    packages: ['a2a', 'contract', 'registry', 'surface'],
    wanted: ['@svc/a2a', 'fastify'],
    later: ['@grpc/grpc-js', '@bufbuild/protobuf'],
    async check(t, running, port, home) {
      await untilUp(`http://localhost:${port}`, running)
      const answers: string[] = []
      for (const curl of curlsOf('packages/a2a/README.md')) {
        const command = ['bash', '-c', curl.replace(':3000', `:${port}`)]
        const asking = start(t, command, { cwd: home, env: { CURL_HOME: home } })
        t.equal(await asking.ended, 0)
        answers.push(asking.output.stdout)
      }
      t.match(answers[0], /"skills":\[\{"id":"echo"/)
      t.match(answers[1], /"text":"You said: Hello"/)
    }
  },
  {
    packages: ['gateway', 'contract', 'http', 'registry', 'surface'],
    wanted: ['@svc/gateway', '@svc/http', '@svc/registry', 'fastify', 'socket.io-client'],
    // Its program is also a client.
    check: async (t, running) =>
      void t.match(await untilSaid(running, 'stop'), /^You said: Hello\nstop\n$/, running.output.stderr)
  }
]

t.setTimeout(300_000)

/** The install commands of each package manager, for the current folder and a given registry. */
function installers(home: string, registry: string): Record<string, string[]> {
  const from = `--registry=${registry}`
  return {
    npm: ['npm', 'install', '--strict-peer-deps', '--no-audit', '--no-fund', `--cache=${home}/cache`, from],
    pnpm: [bin('pnpm'), 'add', `--store-dir=${home}/store`, `--config.cache-dir=${home}/metadata`, from]
  }
}

const home = t.testdir({ packed: {}, '.curlrc': 'silent\nfail-with-body\nmax-time = 20\n' })
const packed = join(home, 'packed')
const tarballs: string[] = []
for (const name of new Set(SAMPLES.flatMap(({ packages }) => packages))) tarballs.push(await pack(name))
const registry = await startRegistry(t, tarballs, packed)

for (const { packages, wanted, later = [], check } of SAMPLES) {
  const readme = `packages/${packages[0]}/README.md`

  t.test(`@svc/${packages[0]}, installed as in its README`, async (t) => {
    t.same(installsOf(readme), [...wanted, ...later])
    for (const [name, command] of Object.entries(installers(home, registry))) {
      await t.test(`with ${name}`, async (t) => {
        const cwd = t.testdir({ 'package.json': '{"name":"app","private":true,"type":"module"}' })
        const env = { HOME: home, npm_config_update_notifier: 'false' }
        const install = start(t, [...command, ...wanted], { cwd, env })
        t.equal(await install.ended, 0, install.output.stdout + install.output.stderr)
        t.notMatch(install.output.stderr, /peer/)

        const port = await freePort()
        const [{ code }] = codeBlocks([readme]) as [CodeBlock]
        writeFileSync(join(cwd, 'app.ts'), code.replace('port: 3000', `port: ${port}`))
        const running = start(t, [process.execPath, 'app.ts'], { cwd })
        await check(t, running, port, home)
        running.child.kill('SIGTERM')
        await running.ended
      })
    }
  })
}
