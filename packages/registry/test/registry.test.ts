import { createRegistry, globalRegistry, type RegistryChange, type RunnableDefinition } from '@svc/registry'
import t from 'tap'

const echo = (name: string, kind: RunnableDefinition['kind'] = 'agent'): RunnableDefinition => ({
  kind,
  name,
  run: async (input) => String(input)
})

t.test('lists by kind and finds by exact name', async (t) => {
  const registry = createRegistry()
  const agent = registry.add(echo('a'))
  const team = registry.add(echo('a', 'team'))
  const other = registry.add(echo('A'))
  t.equal(registry.get('agent', 'a'), agent)
  t.equal(registry.get('team', 'a'), team)
  t.equal(registry.get('workflow', 'a'), undefined)
  t.same(registry.list('agent'), [agent, other])
  t.same(registry.list(), [agent, other, team])
  t.equal(registry.remove('agent', 'a'), true)
  t.equal(registry.remove('agent', 'a'), false)
  t.equal(registry.get('agent', 'a'), undefined)
})

t.test('a name is taken once, and replaced on purpose only', async (t) => {
  const registry = createRegistry()
  registry.add(echo('a'))
  t.throws(() => registry.add(echo('a')), { code: 'REG_ERR_NAME_TAKEN' })
  const second = registry.add(echo('a'), { replace: true })
  t.equal(registry.get('agent', 'a'), second)
  t.equal(registry.list().length, 1)
})

const bad = [
  '',
  ' a',
  'a ',
  '.',
  '..',
  'a/b',
  'a\\b',
  'a?b',
  'a#b',
  'a%2fb',
  'a\u0000b',
  'a\nb',
  'a\u007f',
  'a\u2028b',
  '\ud800',
  'x'.repeat(129),
  undefined,
  null,
  5,
  {},
  ['a']
]
for (const [index, name] of bad.entries()) {
  t.test(`refuses bad name ${index}`, async (t) => {
    t.throws(() => createRegistry().add({ ...echo('x'), name: name as string }), { code: 'REG_ERR_BAD_NAME' })
  })
}

for (const name of ['__proto__', 'constructor', 'a b', 'ü✓𝄞', '...', 'x'.repeat(128), "a'b", 'a:b@c&d=e+f']) {
  t.test(`takes the name ${JSON.stringify(name).slice(0, 20)}`, async (t) => {
    const registry = createRegistry()
    t.equal(registry.get('agent', name), undefined)
    const runnable = registry.add(echo(name))
    t.equal(registry.get('agent', name), runnable)
  })
}

t.test('refuses what is no runnable', async (t) => {
  const registry = createRegistry()
  t.throws(() => registry.add({ kind: 'robot' as 'agent', name: 'a', run: () => '' }), {
    code: 'REG_ERR_BAD_KIND'
  })
  for (const value of [undefined, null, 'a', 5])
    t.throws(() => registry.add(value as never), { code: 'REG_ERR_BAD_RUNNABLE' })
  t.throws(() => registry.add({ kind: 'agent', name: 'a' }), { code: 'REG_ERR_BAD_RUNNABLE' })
  t.throws(() => registry.add({ kind: 'agent', name: 'a', run: 'x' as never }), {
    code: 'REG_ERR_BAD_RUNNABLE'
  })
})

t.test('tells of every change, whatever a listener does', async (t) => {
  const registry = createRegistry()
  const warned = new Promise((resolve) => process.once('warning', resolve))
  const changes: RegistryChange['type'][] = []
  registry.on('change', () => {
    throw new Error('listener')
  })
  const off = registry.on('change', ({ type }) => changes.push(type))
  registry.add(echo('a'))
  registry.add(echo('a'), { replace: true })
  registry.remove('agent', 'a')
  off()
  registry.add(echo('b'))
  t.same(changes, ['add', 'replace', 'remove'])
  t.match(await warned, { message: 'listener' })
})

t.test('the global registry is one a process, however many copies there are', async (t) => {
  const copy = (await import(`../src/registry.ts?copy=${process.pid}`)) as { globalRegistry: unknown }
  t.equal(copy.globalRegistry, globalRegistry)
})
