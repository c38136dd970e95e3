import { buildAgentCard } from '@svc/a2a'
import t from 'tap'

const agent = (name: string, description?: string) => ({
  kind: 'agent' as const,
  name,
  ...(description !== undefined && { description })
})

t.test('one agent, many, or a map of them', async (t) => {
  const provider = { organization: 'We', url: 'https://example.org' }
  t.match(buildAgentCard(agent('ada', 'Counts'), 'https://example.org/a2a', provider), {
    name: 'ada',
    description: '1 agent: ada. Counts',
    url: 'https://example.org/a2a',
    version: '1.0.0',
    provider,
    capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: true },
    skills: [{ id: 'ada', name: 'ada', description: 'Counts', tags: ['agent'] }]
  })
  t.match(buildAgentCard([agent('ada'), agent('bob')], 'https://example.org/'), {
    name: 'Agent service',
    description: '2 agents: ada, bob.',
    skills: [{ id: 'ada', description: 'The agent ada' }, { id: 'bob' }]
  })
  t.match(buildAgentCard({ x: agent('ada') }, 'https://example.org/'), { skills: [{ id: 'x' }] })
  t.match(buildAgentCard([], 'https://example.org/', undefined, { name: 'None', version: '2.0.0' }), {
    name: 'None',
    version: '2.0.0',
    description: '0 agents.',
    skills: []
  })
})
