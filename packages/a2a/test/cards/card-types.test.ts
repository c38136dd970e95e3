import { AgentCard as CodecV10, type AgentCard as SdkCardV10 } from '@a2a-js/sdk'
import {
  buildAgentCard,
  type AgentCardV03,
  type AgentCardV10,
  type BuiltCard,
  type ProtocolVersion
} from '@svc/a2a'
import type { AgentCard as SdkCardV02 } from 'a2a-sdk-v0.2'
import type { AgentCard as SdkCardV03 } from 'a2a-sdk-v0.3'
import t from 'tap'
import { lostByProto } from '../helpers/published/official-codec.ts'
import { SECURITY_SCHEMES } from '../helpers/security-schemes.ts'

const ada = { kind: 'agent' as const, name: 'ada' }
const url = 'https://example.org/a2a'
const provider = { organization: 'We' }
const facts = { securitySchemes: SECURITY_SCHEMES, extensions: [{ uri: 'urn:x', params: { a: 1 } }] }

/** Compiles only if the two types are the same. */
const isSame = <A, B>(_same: [A] extends [B] ? ([B] extends [A] ? true : never) : never) => true

t.test('a card of 0.3 has the type of the official SDKs of 0.2 and 0.3, without a cast', async (t) => {
  const card = buildAgentCard(ada, url, provider, { ...facts, versions: ['0.3'] })
  t.ok(isSame<typeof card, AgentCardV03>(true))
  const official: SdkCardV03 = card
  // It does not know mutual TLS yet.
  const older: Omit<SdkCardV02, 'securitySchemes'> = card
  t.equal(official, older)
  t.equal(card.url, url)
  t.equal(card.provider?.url, url)
  t.equal(card.capabilities.stateTransitionHistory, true)
  const { bearer } = card.securitySchemes ?? {}
  t.equal(bearer?.type === 'http' && bearer.scheme, 'bearer')
  // @ts-expect-error -- only 1.0 has them
  t.equal(card.supportedInterfaces, undefined)
})

t.test('a card of 1.0 has the fields of the official SDK, which reads all of them', async (t) => {
  const card = buildAgentCard(ada, url, provider, { ...facts, tenant: 'ada', versions: ['1.0'] })
  t.ok(isSame<typeof card, AgentCardV10>(true))
  t.ok(isSame<Exclude<keyof typeof card, keyof SdkCardV10>, never>(true))
  type Interface = (typeof card.supportedInterfaces)[number]
  t.ok(isSame<Exclude<keyof Interface, keyof SdkCardV10['supportedInterfaces'][number]>, never>(true))
  t.ok(
    isSame<Exclude<keyof typeof card.capabilities, keyof NonNullable<SdkCardV10['capabilities']>>, never>(
      true
    )
  )
  t.equal(card.supportedInterfaces[0]?.tenant, 'ada')
  t.equal(card.securitySchemes?.['bearer']?.httpAuthSecurityScheme?.scheme, 'bearer')
  t.same(card.securityRequirements?.[0], { schemes: { bearer: { list: [] } } })
  t.same(lostByProto('AgentCard', card), [])
  const official: SdkCardV10 = CodecV10.fromJSON(card)
  t.equal(official.supportedInterfaces.length, card.supportedInterfaces.length)
  // @ts-expect-error -- only 0.3 has it
  t.equal(card.url, undefined)
})

t.test('a card of both versions has both types', async (t) => {
  const cards = [
    buildAgentCard(ada, url, provider, facts),
    buildAgentCard([ada], url),
    buildAgentCard({ ada }, url, undefined, { versions: ['1.0', '0.3'] })
  ]
  for (const card of cards) {
    t.ok(isSame<typeof card, AgentCardV03 & AgentCardV10>(true))
    const official: SdkCardV03 = card
    t.equal(official.url, card.supportedInterfaces[0]?.url)
    t.equal(card.capabilities.extendedAgentCard, false)
  }
  const { several } = cards[0]!.securitySchemes ?? {}
  const flat = several?.type === 'oauth2' && several.flows.implicit
  t.same(several?.oauth2SecurityScheme?.flows, { implicit: flat })
})

t.test('versions known at run time only give a union type', async (t) => {
  const versions: ProtocolVersion[] = ['1.0']
  const card = buildAgentCard(ada, url, undefined, { versions })
  t.ok(isSame<typeof card, AgentCardV03 | AgentCardV10>(true))
  t.ok(isSame<BuiltCard<readonly ProtocolVersion[]>, typeof card>(true))
  t.notOk('url' in card)
  t.equal('supportedInterfaces' in card && card.supportedInterfaces.length, 2)
})
