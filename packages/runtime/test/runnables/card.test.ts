import { createRegistry, type RunnableCard } from '@svc/registry'
import { Agent, Team, Workflow } from '@svc/runtime'
import t from 'tap'

const card: RunnableCard = {
  title: 'Ada',
  tags: ['x'],
  inputModes: ['image/*'],
  iconUrl: 'https://example.org/x.png'
}

t.test('agents, teams and workflows keep their card, in a registry too', async (t) => {
  const registry = createRegistry()
  const made = { card, registry, name: 'x' }
  const agent = new Agent({ ...made, model: () => ({}) as never })
  const team = new Team({ ...made, members: [agent], mode: 'sequence' })
  const workflow = new Workflow({ ...made, steps: (flow) => flow.step('a', () => 'a') })
  for (const each of [agent, team, workflow]) {
    t.equal(each.card, card, each.kind)
    t.equal(registry.get(each.kind, 'x')?.card, card, each.kind)
  }
})

t.test('a bad card is refused', async (t) => {
  const bad = { register: false, name: 'x', card: { iconUrl: 'x.png' } }
  t.throws(() => new Team({ ...bad, members: [], mode: 'sequence' }), { message: /card\/iconUrl/ })
  t.throws(() => new Workflow({ ...bad, steps: (flow) => flow.step('a', () => 'a') }), {
    message: /card\/iconUrl/
  })
})
