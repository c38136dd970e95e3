import { createRegistry, globalRegistry, type RegistryChange, type RunnableDefinition } from '@svc/registry'
import t from 'tap'

const echo = (name: string, kind: RunnableDefinition['kind'] = 'agent'): RunnableDefinition => ({
  kind,
  name,
  run: async (input) => String(input)
})

t.test('lists by kind, and finds by exact name', async (t) => {
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

t.test('a name is unique, unless it is replaced explicitly', async (t) => {
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
  t.test(`accepts the name ${JSON.stringify(name).slice(0, 20)}`, async (t) => {
    const registry = createRegistry()
    t.equal(registry.get('agent', name), undefined)
    const runnable = registry.add(echo(name))
    t.equal(registry.get('agent', name), runnable)
  })
}

t.test('refuses values that are not runnables', async (t) => {
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

t.test('emits every change, even if a listener throws', async (t) => {
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

t.test('a listener may throw or reject with any value', async (t) => {
  const registry = createRegistry()
  const warnings: string[] = []
  const listen = (warning: Error) => warnings.push(warning.message)
  process.on('warning', listen)
  t.teardown(() => process.off('warning', listen))
  const faults: unknown[] = [42, undefined, Symbol('s'), Object.create(null) as object, new Error('listener')]
  for (const fault of faults) {
    registry.on('change', () => {
      throw fault
    })
    registry.on('change', async () => {
      throw fault
    })
  }
  t.equal(registry.add(echo('a')).name, 'a')
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
  t.equal(warnings.length, 10)
})

t.test('a guard refuses additions until it is removed', async (t) => {
  const registry = createRegistry()
  const changes: string[] = []
  registry.on('change', ({ type }) => changes.push(type))
  const off = registry.guard(({ name }) => {
    if (name === 'bad') throw new Error('refused')
  })
  registry.add(echo('good'))
  for (const replace of [false, true])
    t.throws(() => registry.add(echo('bad'), { replace }), { message: 'refused' })
  t.equal(registry.get('agent', 'bad'), undefined)
  t.same(changes, ['add'])
  off()
  off()
  t.equal(registry.add(echo('bad')).name, 'bad')
})

t.test(
  'a function can be registered several times, and each registration is removed separately',
  async (t) => {
    const registry = createRegistry()
    let heard = 0
    const listener = () => void heard++
    const [first, second] = [registry.on('change', listener), registry.on('change', listener)]
    registry.add(echo('a'))
    t.equal(heard, 2)
    first()
    first()
    registry.remove('agent', 'a')
    t.equal(heard, 3)
    second()
    registry.add(echo('a'))
    t.equal(heard, 3)
  }
)

t.test('a listener may remove others and change the registry', async (t) => {
  const registry = createRegistry()
  const heard: string[] = []
  registry.on('change', ({ type, runnable }) => {
    heard.push(`${type} ${runnable.name}`)
    off()
    if (runnable.name === 'a' && type === 'add') registry.remove('agent', 'a')
  })
  const off = registry.on('change', () => {})
  registry.add(echo('a'))
  t.same(heard, ['add a', 'remove a'])
  t.same(registry.list(), [])
})

t.test('a list is a copy, and empty for an unknown kind', async (t) => {
  const registry = createRegistry()
  registry.add(echo('a'))
  registry.list().length = 0
  t.equal(registry.list().length, 1)
  for (const kind of ['robot', '__proto__', 'constructor'] as never[]) {
    t.same(registry.list(kind), [])
    t.equal(registry.get(kind, 'a'), undefined)
    t.equal(registry.remove(kind, 'a'), false)
  }
})

t.test('the global registry is shared by all copies in a process', async (t) => {
  const copy = (await import(`../src/registry.ts?copy=${process.pid}`)) as { globalRegistry: unknown }
  t.equal(copy.globalRegistry, globalRegistry)
})
