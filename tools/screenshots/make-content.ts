import type { ServedDemo } from './serve-demo.ts'

/** What the pictures show by its address. */
export interface Content {
  /** A run of a team whose members worked at once, and waited. */
  readonly teamRun: string
  /** A run of an agent with tools. */
  readonly agentRun: string
  /** A run of the agent with a browser. */
  readonly browserRun: string
}

/** A session with a branch. */
export const BRANCHED = 'first-steps'

const SMALL_TALK: readonly (readonly [minutes: number, path: string, body: object])[] = [
  [2_900, 'agents/companion', { input: 'My dog is called Rex.', metadata: { channel: 'app' } }],
  [1_500, 'teams/desk', { input: 'The statistics of 3, 5 and 10, please', metadata: { channel: 'web' } }],
  [1_420, 'agents/notes', { input: 'note: call the supplier about the autumn teas' }],
  [190, 'agents/analyst', { input: '```js\nreturn [3, 1, 2].sort()\n```' }],
  [64, 'agents/companion', { input: 'Write the minutes: Ada and Grace met. Decided: ship on Friday.' }],
  [
    41,
    'agents/supplier',
    { input: 'Ask for the prices of first flush', sessionId: 'first-flush', metadata: { ticket: '4711' } }
  ]
]

/** Fills the demo: runs in every state, sessions, and what waits for an answer. */
export async function makeContent(demo: ServedDemo): Promise<Content> {
  const done = async (path: string, body: object) => {
    const runId = await demo.start(path, body)
    await demo.ended(runId)
    return runId
  }
  for (const [minutes, path, body] of SMALL_TALK) await ago(minutes, () => done(path, body))
  await ago(33, () => makeBranches(done))
  await ago(26, async () => {
    const runId = await demo.start('agents/courier', { input: 'Deliver 12 parcels', sessionId: 'round-12' })
    await demo.send('POST', `runs/${runId}/cancel`)
    await demo.ended(runId)
  })
  const browserRun = await ago(19, () =>
    done('agents/scout', { input: 'How much is the rain jacket in size L?' })
  )
  const agentRun = await ago(12, () => done('agents/buyer', { input: 'Which teas do we order this week?' }))
  const teamRun = await ago(7, async () => {
    const runId = await demo.start('teams/naming', {
      input: 'We have a new oolong, smoked over pine. Name it.',
      metadata: { ticket: '4720' }
    })
    await demo.send('POST', `approvals/${await demo.approvalOf(runId)}`, { approved: true })
    await demo.ended(runId)
    return runId
  })
  await demo.start('agents/booking', { input: 'Book a table at Luigi’s', sessionId: 'dinner' })
  await demo.approvalOf(
    await demo.start('agents/buyer', {
      input: 'Order 24 packs of Sencha and 18 of Lapsang',
      sessionId: 'autumn-order'
    })
  )
  await demo.start('agents/translator', {
    input: 'Translate the catalogue',
    sessionId: 'catalogue',
    metadata: { channel: 'web' }
  })
  return { teamRun, agentRun, browserRun }
}

/** A session whose second message was sent again in other words. */
async function makeBranches(done: (path: string, body: object) => Promise<string>): Promise<void> {
  const path = 'agents/assistant'
  const sessionId = BRANCHED
  const first = await done(path, { sessionId, input: 'How do I resume a stream?' })
  await done(path, { sessionId, input: 'What is 12 * (3+4)?' })
  await done(path, { sessionId, input: 'And what is 15% of 80?', afterTurn: first })
  await done(path, { sessionId, input: 'What time is it in Lisbon?' })
}

/** Does something as if it were earlier: the service takes the time from `Date.now()`. */
async function ago<T>(minutes: number, act: () => Promise<T>): Promise<T> {
  const { now } = Date
  Date.now = () => now() - minutes * 60_000
  try {
    return await act()
  } finally {
    Date.now = now
  }
}
