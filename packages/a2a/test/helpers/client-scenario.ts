import { grpcBinding } from '@svc/a2a/grpc'
import {
  FEATURES,
  type Conversation,
  type Feature,
  type ForeignClient,
  type ReceivedFile
} from '@tools/a2a-clients/client'
import { recordOutsideConnections } from '@tools/a2a-clients/outside-connections'
import t from 'tap'
import { buildApp } from './build-app.ts'
import { createScenarioAgents, SECRETS, TABLE } from './scenario-agents.ts'

type Agents = ReturnType<typeof createScenarioAgents>

/** How a feature is tested: what a client makes of it is as expected if, and only if, it has the feature. */
interface Scenario {
  readonly agent: string
  readonly expected: unknown
  act(conversation: Conversation, agents: Agents): Promise<unknown>
}

/** Those of Mastra's own server, the only ones that its client knows. */
const PATHS = { basePath: '/api', agentPath: '/a2a' }
const PREAMBLE = 'Let me see. '
const ANSWER = 'The answer is 42.'
const NOTE = { name: 'note.txt', mediaType: 'text/plain', content: 'Remember the milk' }

const SCENARIOS: Record<Feature, Scenario> = {
  discovery: {
    agent: 'calculator',
    expected: 'calculator',
    act: (conversation) => conversation.discover()
  },
  send: {
    agent: 'calculator',
    expected: { text: ANSWER, leaked: [] },
    async act(conversation) {
      const reply = await conversation.send('What is 6 times 7?')
      return { text: reply.text, leaked: secretsIn(reply) }
    }
  },
  stream: {
    agent: 'calculator',
    expected: { text: PREAMBLE + ANSWER, isInChunks: true, answers: 1, leaked: [] },
    async act(conversation) {
      const { chunks, text } = await conversation.stream('What is 6 times 7?')
      return {
        text: chunks.join(''),
        isInChunks: chunks.length > 3,
        answers: text.split(ANSWER).length - 1,
        leaked: secretsIn({ chunks, text })
      }
    }
  },
  revision: {
    agent: 'calculator',
    expected: ANSWER,
    act: async (conversation) => (await conversation.stream('What is 6 times 7?')).text
  },
  question: {
    agent: 'tailor',
    expected: { isAsked: true, text: 'accept: Large.', isSameTask: true },
    async act(conversation) {
      const question = await conversation.send('A coat, please')
      const reply = await conversation.answer?.(question, 'Large')
      return {
        isAsked: question.text.startsWith('Which size?'),
        text: reply?.text,
        isSameTask: reply?.taskId === question.taskId
      }
    }
  },
  cancel: {
    agent: 'waiter',
    expected: 'canceled',
    async act({ begin }, { waiting }) {
      if (begin === undefined) return undefined
      waiting.reset()
      const task = await begin('Wait')
      await waiting.reached()
      const state = await task.cancel()
      await waiting.aborted()
      return state
    }
  },
  'send a file': {
    agent: 'archivist',
    expected: `${NOTE.mediaType}: ${NOTE.content}`,
    act: async (conversation) => (await conversation.sendFile?.(NOTE))?.text
  },
  'receive a file': {
    agent: 'archivist',
    expected: [{ mediaType: 'text/csv', content: TABLE }],
    async act(conversation) {
      const { files } = await conversation.stream('Make a table')
      return Promise.all(
        files.map(async (file) => ({ mediaType: file.mediaType, content: await contentOf(file) }))
      )
    }
  }
}

/** Has clients use every feature, with the agents of one service. */
export async function testClients(clients: readonly ForeignClient[]): Promise<void> {
  const agents = createScenarioAgents()
  const outside = recordOutsideConnections()
  const origin = await serve(agents)
  for (const client of clients)
    await t.test(`${client.name} ${client.protocol} over ${client.binding}`, async (t) => {
      for (const feature of FEATURES) {
        const { agent, expected, act } = SCENARIOS[feature]
        const reason = client.lacks[feature]
        const conversation = await client.connect({ origin, ...PATHS, agent })
        const made = await act(conversation, agents)
        if (reason === undefined) t.same(made, expected, feature)
        else t.notSame(made, expected, `no ${feature}: ${reason}`)
      }
    })
  t.same(outside, [], 'they connect to this machine only')
}

async function serve({ runnables }: Agents): Promise<string> {
  const grpc = grpcBinding({ port: 0 })
  const options = { ...PATHS, exposeToolResults: false, grpc }
  return (await buildApp(t, { runnables, options })).origin
}

function secretsIn(value: unknown): string[] {
  const text = JSON.stringify(value)
  return SECRETS.filter((secret) => text.includes(secret))
}

async function contentOf({ url, content = '' }: ReceivedFile): Promise<string> {
  if (url === undefined) return Buffer.from(content, 'base64').toString()
  return (await fetch(url)).text()
}
