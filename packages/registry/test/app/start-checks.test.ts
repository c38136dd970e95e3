import { readFileSync } from 'node:fs'
import registry, { createRunEngine } from '@svc/registry'
import { codeOf } from '@svc/testing'
import Fastify from 'fastify'
import t from 'tap'
import { requireNode } from '../../src/app/app-scope.ts'

t.test('an old Node is refused at once, with the required version', async (t) => {
  for (const version of ['18.20.8', '20.19.0', '22.15.1'])
    t.equal(await codeOf(async () => requireNode(version)), 'REG_ERR_OLD_NODE', version)
  t.throws(() => requireNode('20.1.0'), { message: 'Node 22.16 or newer is needed, this is 20.1.0' })
  for (const version of ['22.16.0', '22.18.1', '24.0.0-nightly', '26.1.0'])
    t.doesNotThrow(() => requireNode(version))
  t.doesNotThrow(() => requireNode())
})

t.test('the required version is that of package.json', async (t) => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  t.match(manifest, '"node": ">=22.16"')
  t.throws(() => requireNode('22.15.0'), { message: /22\.16/ })
})

t.test('no engine is created on an older Node, in an app or without', async (t) => {
  const { versions } = process
  const node = Object.getOwnPropertyDescriptor(versions, 'node')!
  t.teardown(() => Object.defineProperty(versions, 'node', node))
  Object.defineProperty(versions, 'node', { ...node, value: '20.19.0' })
  t.throws(() => createRunEngine(), { code: 'REG_ERR_OLD_NODE' })
  t.equal(await codeOf(async () => Fastify().register(registry)), 'REG_ERR_OLD_NODE')
})
