import { resolve } from 'node:path'
import t from 'tap'
import { readSourceTree, toSourceTree } from '../tools/boundaries/source-tree.ts'
import { rules } from '../tools/boundaries.ts'

const root = resolve(import.meta.dirname, '..')
const registry = process.env['npm_config_registry']
const machine = { folders: [root], hosts: registry === undefined ? [] : [new URL(registry).host] }

const manifest = (name: string, more: object = {}) =>
  JSON.stringify({ name, exports: { '.': './src/index.ts' }, ...more })
const onCenter = { dependencies: { '@svc/contract': 'workspace:^' } }
const onStore = { devDependencies: { '@svc/store': 'workspace:^' } }

/** A small repository in which every rule holds. */
const good = {
  'package.json': manifest('root', { devDependencies: { tap: '1', '@svc/http': '1' } }),
  'README.md':
    'See [the house](docs/house.md#top), `packages/http/src/`, `packages/*/src` and `src/index.ts`.\n',
  'ARCHITECTURE.md':
    'Rooms: `packages/contract`, `packages/contract/src/runs`, `packages/http`, `packages/store`, `packages/a2a`, `packages/a2a/src/wire`.\n',
  'docs/house.md': '# The house\n\nUp: [start](../README.md). Not paths: `a/b`, `text/html`, `/src/x`.\n',
  'packages/contract/package.json': manifest('@svc/contract', { dependencies: { typed: '1' } }),
  'packages/contract/src/index.ts':
    "import { readFile } from 'node:fs'\nimport type { T } from 'typed'\nexport * from './runs/run.ts'\n",
  'packages/contract/src/runs/run.ts':
    '/** Not `console.log`. */\nlog.error({ err: toLoggable(err), code: err.code }, why)\n',
  'packages/http/package.json': manifest('@svc/http', { ...onCenter, ...onStore }),
  'packages/http/src/index.ts': "import { r } from '@svc/contract'\n",
  'packages/http/test/index.test.ts':
    "import t from 'tap'\nimport s from '@svc/store'\nimport h from '@svc/http'\nimport '../src/index.ts'\n",
  'packages/a2a/package.json': manifest('@svc/a2a'),
  'packages/a2a/src/wire/codec-for.ts':
    "import { codec as old } from './v0.3/codec.ts'\nimport { codec } from './v1.0/codec.ts'\nexport const of = { '0.3': old, '1.0': codec }\n",
  'packages/a2a/src/wire/v0.3/codec.ts':
    "import { encode } from './task.ts'\nimport { fields } from '../fields.ts'\n",
  'packages/a2a/src/operations.ts': "export const send = { '0.3': 'message/send', '1.0': 'SendMessage' }\n",
  'packages/a2a/src/plugin.ts':
    "// Before '1.0' there were none.\nimport { of } from './wire/codec-for.ts'\n/** Default `1.0`. */\nexport const version = '1.0.0'\n",
  'packages/store/package.json': manifest('@svc/store', onCenter),
  'packages/store/src/index.ts': "declare module '@svc/contract' {}\n",
  'apps/demo/package.json': manifest('@svc/demo', { dependencies: { '@svc/http': '1', '@svc/store': '1' } }),
  'apps/demo/src/main.ts':
    "import h from '@svc/http'\nconst s = await import('@svc/store')\nconsole.log(h, s)\n",
  'pnpm-lock.yaml': 'resolution: {integrity: sha512-x}\n'
}

/** What breaks each rule: files laid over the good ones, and what the rule must say. */
const planted: Record<keyof typeof rules, [files: Record<string, string>, says: string][]> = {
  layers: [
    [
      { 'packages/contract/src/a.ts': "import '@svc/http'\n" },
      'imports @svc/http: it may import no package of ours'
    ],
    [
      { 'packages/http/src/a.ts': "import type { S } from '@svc/store'\n" },
      'it may import contract, surface'
    ],
    [
      { 'packages/http/src/a.ts': "const s = await import('@svc/store')\n" },
      'it may import contract, surface'
    ],
    [
      { 'packages/http/src/a.ts': "export * from '../../store/src/index.ts'\n" },
      'leaves packages/http/src/ by path'
    ],
    [
      { 'packages/http/src/a.ts': "export * from '../test/index.test.ts'\n" },
      'leaves packages/http/src/ by path'
    ],
    [{ 'packages/http/src/a.ts': "import '@svc/http'\n" }, 'imports its own package by name'],
    [{ 'packages/http/src/a.ts': "import '@svc/contract/src/runs/run.ts'\n" }, 'no entry of @svc/contract'],
    [{ 'packages/http/src/a.ts': "import '@svc/absent'\n" }, 'no package here'],
    [
      { 'packages/http/test/a.test.ts': "import '../../store/src/index.ts'\n" },
      'leaves packages/http/ by path'
    ],
    [
      { 'apps/demo/src/a.ts': "import '../../../packages/http/src/index.ts'\n" },
      'leaves apps/demo/src/ by path'
    ],
    [{ 'test/a.test.ts': "import '../packages/http/src/index.ts'\n" }, 'imports the inside of a package']
  ],
  dependencies: [
    [
      { 'packages/http/src/a.ts': "import type { X } from '@scope/absent/sub'\n" },
      '@scope/absent is not declared in packages/http'
    ],
    [{ 'packages/http/src/a.ts': "import t from 'tap'\n" }, 'tap is not declared'],
    [{ 'packages/http/src/a.ts': "import '@svc/store'\n" }, '@svc/store is not declared'],
    [{ 'packages/store/test/a.test.ts': "import '@svc/http'\n" }, '@svc/http is not declared'],
    [{ 'packages/store/src/index.ts': '' }, '@svc/contract is declared and never imported'],
    [
      { 'packages/store/src/index.ts': "// import '@svc/contract'\n" },
      '@svc/contract is declared and never imported'
    ],
    [
      {
        'packages/http/package.json': manifest('@svc/http', {
          ...onCenter,
          ...onStore,
          peerDependencies: { p: '1' }
        })
      },
      'p is declared and never'
    ],
    [{ 'tools/a.ts': "import 'absent'\n" }, 'absent is not declared in the root']
  ],
  logs: [
    [{ 'packages/http/src/a.ts': "log.error({ err }, 'x')\n" }, 'a.ts:1: logs an error'],
    [{ 'packages/http/src/a.ts': "\nthis.#log?.warn({ code, err: of(x) }, 'x')\n" }, 'a.ts:2: logs an error'],
    [{ 'packages/http/src/a.ts': "log.warn({ a: b(c), error: err }, 'x')\n" }, 'a.ts:1: logs an error'],
    [{ 'packages/http/src/a.ts': "request.log.error(\n  err,\n  'x'\n)\n" }, 'a.ts:1: logs an error'],
    [{ 'packages/http/src/a.ts': "logRun(run, 'debug', 'x', { ...err })\n" }, 'a.ts:1: logs an error'],
    [{ 'apps/demo/src/a.ts': "app.log.fatal({ err }, 'x')\n" }, 'a.ts:1: logs an error']
  ],
  sealedWire: [
    [
      { 'packages/a2a/src/push/a.ts': "import { c } from '../wire/v0.3/codec.ts'\n" },
      'imports v0.3, take its codec'
    ],
    [
      { 'packages/a2a/src/a.ts': "export type { C } from './wire/v1.0/card.ts'\n" },
      'imports v1.0, take its codec'
    ],
    [
      { 'packages/a2a/src/wire/v0.3/a.ts': "import { c } from '../v1.0/codec.ts'\n" },
      'imports v1.0, what both share'
    ],
    [
      { 'packages/a2a/src/handlers/a.ts': "\nif (call.version === '0.3') end()\n" },
      'a.ts:2: names a version'
    ],
    [{ 'packages/a2a/src/a.ts': 'const versions = ["1.0"]\n' }, 'a.ts:1: names a version']
  ],
  markdownPaths: [
    [{ 'a.md': 'See `packages/http/src/gone.ts`.' }, 'names packages/http/src/gone.ts'],
    [{ 'a.md': 'See `src/gone.ts`.' }, 'names src/gone.ts'],
    [{ 'a.md': 'See `packages/*/gone`.' }, 'names packages/*/gone'],
    [{ 'packages/http/README.md': 'See `src/runs/run.ts`.' }, 'names src/runs/run.ts'],
    [{ 'docs/a.md': 'See [it](gone.md).' }, 'names gone.md']
  ],
  map: [[{ 'packages/gateway/test/a.ts': '' }, 'packages/gateway: is not in ARCHITECTURE.md']],
  leaks: [
    [{ 'a.ts': '// /some/checkout/x' }, 'a folder of this machine'],
    [{ 'a.ts': `// ${['', 'home', 'someone', 'x'].join('/')}` }, 'a home folder'],
    [{ 'a.ts': `// ${['', 'root', 'x'].join('/')}` }, 'a home folder'],
    [{ '.npmrc': ['registry', 'x'].join('=') }, 'a registry'],
    [{ 'a.json': ['https:', '', 'registry.somewhere.org', 'x'].join('/') }, 'the host of a registry'],
    [{ 'a.json': 'packages.somewhere.org' }, 'the host of a registry'],
    [{ 'pnpm-lock.yaml': ['tarball:', ' https', '://x/y.tgz'].join('') }, 'where a tarball came from']
  ]
}

t.test('the rules hold here', async (t) => {
  const tree = readSourceTree(root)
  t.ok(tree.has('test/boundaries.test.ts'))
  for (const { says, check } of Object.values(rules)) t.strictSame(check(tree, machine), [], says)
})

t.test('the rules hold in a good repository', async (t) => {
  for (const { says, check } of Object.values(rules))
    t.strictSame(check(toSourceTree(good), machine), [], says)
})

for (const [name, cases] of Object.entries(planted)) {
  t.test(`${name}: what breaks the rule is found`, async (t) => {
    const { check } = rules[name as keyof typeof rules]
    for (const [files, says] of cases) {
      const there = { folders: ['/some/checkout'], hosts: ['packages.somewhere.org'] }
      const found = check(toSourceTree({ ...good, ...files }), there)
      t.equal(found.length, 1, `one violation in ${Object.keys(files)[0]}`)
      t.ok(found[0]?.includes(says), says, { found })
    }
  })
}
