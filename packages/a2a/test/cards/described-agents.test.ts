import { buildAgentCard, remoteAgent, type A2aOptions } from '@svc/a2a'
import type { RunnableCard, RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'

const CARD = '/.well-known/agent-card.json'
const url = 'https://example.org/a2a'
const described: RunnableCard = {
  title: 'The painter',
  tags: ['art', 'image'],
  examples: ['A lighthouse'],
  inputModes: ['text/plain', 'image/*'],
  outputModes: ['image/png'],
  documentationUrl: 'https://example.org/painter',
  iconUrl: 'https://example.org/painter.png',
  security: [{ bearer: ['paint'] }, {}]
}
const painter: RunnableDefinition = { ...echo, name: 'painter', card: described }
const { title: name, tags, examples, inputModes, outputModes } = described
const skill = { id: 'painter', name, tags, examples, inputModes, outputModes }
const securityRequirements = [{ schemes: { bearer: { list: ['paint'] } } }, { schemes: {} }]
const schemes = { bearer: { type: 'http', scheme: 'bearer' } }

async function cards(t: Parameters<typeof buildApp>[0], options: A2aOptions, path = CARD) {
  const { origin } = await buildApp(t, {
    runnables: [painter, echo],
    options: { authenticate: Object.assign(() => ({ sub: 'me', scopes: [] }), { schemes }), ...options }
  })
  const get = async (headers = {}) => (await fetch(origin + path, { headers })).json()
  return { both: await get(), pure: await get({ 'a2a-version': '1.0' }) }
}

t.test('a skill has what the card of its agent says, in every version', async (t) => {
  const { both, pure } = await cards(t, {})
  const { pure: _, both: legacy } = await cards(t, { versions: ['0.3'] })
  t.match(both, {
    skills: [{ ...skill, security: described.security, securityRequirements }, { id: 'echo' }]
  })
  t.match(pure, { skills: [{ ...skill, securityRequirements }, { tags: ['agent'] }] })
  t.match(legacy, { skills: [{ ...skill, security: described.security }] })
  t.notMatch(pure, { skills: [{ security: [] }] })
  for (const card of [both, pure, legacy])
    t.match(card, { defaultInputModes: ['text/plain', 'application/json'], documentationUrl: undefined })
  t.same(faultsOf('1.0', 'AgentCard', pure), [])
  t.same(faultsOf('0.3', 'AgentCard', legacy), [])
})

t.test('options of the service are on its card, and those of an agent on the card of it alone', async (t) => {
  const options = {
    defaultInputModes: ['text/*'],
    defaultOutputModes: ['text/plain', 'audio/*'],
    documentationUrl: 'https://example.org/docs',
    iconUrl: 'https://example.org/icon.png'
  }
  for (const card of Object.values(await cards(t, options))) t.match(card, options)
  const { documentationUrl, iconUrl } = described
  const own = {
    name,
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    documentationUrl,
    iconUrl
  }
  for (const card of Object.values(await cards(t, options, `/a2a/painter${CARD}`))) t.match(card, own)
  for (const card of Object.values(await cards(t, options, `/a2a/echo${CARD}`)))
    t.match(card, { name: 'echo', ...options })
  t.match(buildAgentCard({ kind: 'agent', name: 'x', card: described }, url), own)
  t.match(
    buildAgentCard({ x: { kind: 'agent', name: 'y', card: described } }, url, undefined, options),
    options
  )
})

t.test('remote agents take a card, and bad cards are refused', async (t) => {
  const agent = remoteAgent({ url, card: described })
  t.match(buildAgentCard(agent, url), { name, skills: [{ name, tags, examples }] })
  t.throws(() => remoteAgent({ url, card: { tags: [1] } as never }), {
    code: 'A2A_ERR_BAD_OPTION',
    message: /card\/tags\/0/
  })
  t.throws(() => buildAgentCard({ kind: 'agent', name: 'x', card: { tags: [1] } as never }, url), {
    message: /agents\/card\/tags\/0/
  })
  t.throws(() => buildAgentCard(agent, url, undefined, { iconUrl: 'x' }), {
    message: /facts\/iconUrl: must be/
  })
})
