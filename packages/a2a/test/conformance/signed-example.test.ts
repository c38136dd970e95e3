import { signAgentCard } from '@svc/a2a'
import t from 'tap'

t.test('the example of section 8.4.1 has the canonical form that the specification gives it', async (t) => {
  const payloads: string[] = []
  const card = {
    name: 'Example Agent',
    description: '',
    capabilities: { streaming: false, pushNotifications: false, extensions: [] },
    skills: [],
    // By this field a card is one of 1.0.
    supportedInterfaces: []
  }
  await signAgentCard(card as never, (payload) => {
    payloads.push(Buffer.from(payload).toString())
    return { protected: 'e30', signature: 'AA' }
  })
  // The card is signed in each form that clients make of it; this is that of the specification.
  const canonical =
    '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[],"supportedInterfaces":[]}'
  t.ok(payloads.includes(canonical), payloads.join('\n'))
})
