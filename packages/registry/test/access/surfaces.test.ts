import { createRegistry, createRunEngine, defineRunnable, type Registry } from '@svc/registry'
import { createScopeFilter } from '@svc/contract'
import { Surfaces } from '../../src/access/surfaces.ts'
import t from 'tap'

const agent = (name: string) => defineRunnable({ kind: 'agent', name, run: () => name })
const key = (registry: string, name: string) => ({ registry, kind: 'agent', name }) as const

t.test('a run started by the app belongs to the registry that has its runnable, else to none', async (t) => {
  const runs = createRunEngine()
  t.teardown(() => runs.close())
  const registryOf = async (name: string, all = made) => {
    const { runId } = await runs.start(all.get(name)!, 'x')
    return (await runs.get(runId))?.registry
  }
  const made = new Map(['of the app', 'of the shop', 'named', 'nowhere'].map((name) => [name, agent(name)]))
  t.equal(await registryOf('nowhere'), 'global', 'without any surface there is one registry')

  const [app, shop] = [createRegistry({ id: 'app' }), createRegistry({ id: 'shop' })]
  runs.surfaces.add({ surface: 'the app', registry: app })
  runs.surfaces.add({ surface: 'shop', registry: shop })
  runs.surfaces.add({ surface: 'names', registry: false, named: [made.get('named')!] })
  app.add(made.get('of the app')!)
  shop.add(made.get('of the shop')!)
  t.same(await Promise.all([...made.keys()].map((name) => registryOf(name))), ['app', 'shop', 'app', ''])
})

t.test('a surface shows runs of removed runnables of its registry, but not of others', async (t) => {
  const surfaces = new Surfaces()
  const [one, other] = [createRegistry(), createRegistry()]
  const [moved, named] = [agent('moved'), agent('named')]
  one.add(moved)
  other.add(agent('other'))
  const whole = surfaces.add({ surface: 'one', registry: one, named: [moved] })
  const plain = surfaces.add({ surface: 'plain', registry: one })
  const agents = surfaces.add({ surface: 'agents', registry: one, kinds: ['agent'] })
  const second = surfaces.add({ surface: 'other', registry: other })
  const names = surfaces.add({ surface: 'names', registry: false, named: [named] })
  surfaces.ready(false)
  const showing = (asked: ReturnType<typeof key>) =>
    [whole, plain, agents, second, names].map((surface) => surface.shows(asked))
  const listed = (asked: ReturnType<typeof key>) =>
    [whole, plain, agents, second, names].map((surface) => createScopeFilter(surface.scope())(asked))

  const wanted: [asked: ReturnType<typeof key>, shown: boolean[]][] = [
    [key('global', 'moved'), [true, true, true, false, false]],
    [key('global', 'other'), [false, false, false, true, false]],
    [key('global', 'named'), [false, false, false, false, true]],
    [key('global', 'unknown'), [true, true, true, true, false]],
    [key('else', 'moved'), [false, false, false, false, false]],
    [key('', 'moved'), [false, false, false, false, false]]
  ]
  for (const when of ['at start', 'after all were removed']) {
    for (const [asked, shown] of wanted) {
      t.same(showing(asked), shown, `${asked.registry} ${asked.name} ${when}`)
      t.same(listed(asked), shown, `${asked.registry} ${asked.name} in lists ${when}`)
    }
    whole.remove('agent', 'moved')
    names.remove('agent', 'named')
  }
  t.equal(agents.shows({ ...key('global', 'unknown'), kind: 'team' }), false)
  t.equal(plain.find('agent', 'moved'), undefined, 'it is gone from both')
  t.equal(names.find('agent', 'named'), undefined)
})

t.test('a custom registry needs only `get` and `list`', async (t) => {
  const echo = agent('echo')
  const own = { get: () => echo, list: () => [echo] } as unknown as Registry
  const surfaces = new Surfaces()
  const exposed = surfaces.add({ surface: 'own', registry: own })
  surfaces.ready(false)
  surfaces.watch({ added: t.fail, removed: t.fail })()
  t.equal(
    exposed.onChange(() => {}),
    undefined
  )
  t.match(exposed.startOptions(echo), { registry: 'global', surface: 'own' })
  t.match(surfaces.list(), [{ registry: 'global', runnable: echo }])
})

t.test('two surfaces of the same name have separate policies', async (t) => {
  const surfaces = new Surfaces()
  const policies = [true, false].map((isOwn) => ({ authorize: () => ({ allowed: true }) as const, isOwn }))
  const names = policies.map((policy) => surfaces.add({ surface: 'twice', registry: false, policy }).surface)
  t.same(names, ['twice', 'twice (2)'])
  t.same(
    names.map((name) => surfaces.policyOf(name)?.isOwn),
    [true, false]
  )
})
