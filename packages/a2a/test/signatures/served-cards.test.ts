import { AgentCard as SdkCard, canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import { verifyAgentCard, type A2aOptions, type SignCardFunction } from '@svc/a2a'
import canonicalize from 'canonicalize'
import { base64url, compactVerify, decodeProtectedHeader } from 'jose'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { createEcKey, createEdKey, createRsaKey, type CardKeyPair } from '../helpers/card-keys.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'
import { SECURITY_SCHEMES } from '../helpers/security-schemes.ts'

// The SDK prints each signature that does not fit.
t.capture(console, 'debug')

const CARD = '/.well-known/agent-card.json'
const url = 'https://agents.example.org/a2a'
const ada = { ...echo, name: 'ada', card: { title: 'Ada “the first” Lovelace', tags: ['é', '😀'] } }
const authenticate = Object.assign(
  ({ token }: { token?: string | undefined }) => (token === undefined ? null : { sub: token, scopes: [] }),
  { schemes: SECURITY_SCHEMES }
)
const full: A2aOptions = {
  url,
  authenticate,
  extensions: [{ uri: 'urn:x', required: false, params: { a: '', b: [], c: { d: null }, e: 1e21 } }]
}

interface SignedCard extends Record<string, unknown> {
  signatures: { protected: string; signature: string }[]
}

async function serve(t: Parameters<typeof buildApp>[0], options: A2aOptions) {
  const { origin } = await buildApp(t, { runnables: [ada, echo], options: { ...full, ...options } })
  return async (path = CARD, headers = {}) => {
    const response = await fetch(origin + path, { headers })
    return { status: response.status, headers: response.headers, card: (await response.json()) as SignedCard }
  }
}

const V10 = { 'a2a-version': '1.0' }

/** The verification of the official SDK: rejects unless a signature is valid. */
async function verifyAsSdk(card: SignedCard, { kid, publicKey }: CardKeyPair): Promise<string | undefined> {
  let asked: string | undefined
  await verifyAgentCardSignature(async (named, jku) => {
    if (named !== kid) throw new Error('another key')
    asked = jku
    return publicKey
  })(SdkCard.fromJSON(card))
  return asked
}

/** The signatures of the whole card as it is, as clients of earlier versions verify it. */
async function verifyWhole(
  { signatures, ...card }: SignedCard,
  { publicKey }: CardKeyPair
): Promise<boolean> {
  const payload = base64url.encode(canonicalize(card)!)
  for (const { protected: header, signature } of signatures)
    try {
      await compactVerify(`${header}.${payload}.${signature}`, publicKey)
      return true
    } catch {
      // Another form of the card.
    }
  return false
}

t.test('every served form of a card is signed, and the official SDK accepts it', async (t) => {
  for (const pair of [createEcKey(), createEdKey(), createRsaKey(), createEcKey('k', 'P-521')]) {
    const get = await serve(t, { signCard: { key: pair.privateKey, kid: pair.kid, jku: `${url}/jwks.json` } })
    for (const path of [CARD, `/a2a/ada${CARD}`, `/a2a/agents/ada${CARD}`]) {
      const pure = (await get(path, V10)).card
      t.same(faultsOf('1.0', 'AgentCard', pure), [])
      const { card } = await get(path)
      for (const each of [pure, card]) {
        t.equal(await verifyAsSdk(each, pair), `${url}/jwks.json`, path)
        t.ok(await verifyAgentCard(each, { keys: [pair.jwk] }))
      }
      if ('protocolVersion' in card) t.ok(await verifyWhole(card, pair), 'by clients of 0.3')
    }
    const legacy = (
      await (
        await serve(t, { versions: ['0.3'], signCard: { key: pair.jwk && pair.privateKey, kid: pair.kid } })
      )()
    ).card
    t.same(faultsOf('0.3', 'AgentCard', legacy), [])
    t.ok(await verifyWhole(legacy, pair))
    t.match(await verifyAgentCard(legacy, { keys: [pair.jwk] }), { url })
  }
})

t.test('the payload of 1.0 is canonical: by presence of its fields, and as the SDKs have it', async (t) => {
  const pair = createEcKey()
  const payloads: string[] = []
  const signCard: SignCardFunction = (payload) => {
    payloads.push(Buffer.from(payload).toString())
    return { protected: 'e30', signature: 'AA' }
  }
  const { card } = await (await serve(t, { signCard }))(CARD, V10)
  t.equal(payloads.length, 3)
  const [byPresence = '', compact, bySdk] = payloads
  t.equal(compact, canonicalizeAgentCard(card as never))
  t.equal(bySdk, canonicalizeAgentCard(SdkCard.fromJSON(card)))
  const { signatures: _, ...unsigned } = card
  // Only these have default values and are neither required nor optional.
  const expected = JSON.parse(
    JSON.stringify(unsigned)
      .replaceAll('{"list":[]}', '{}')
      .replace('"required":false,', '')
      .replace(',"scopes":{}', '')
  )
  t.same(JSON.parse(byPresence), expected)
  t.equal(byPresence, canonicalize(JSON.parse(byPresence)))
  t.match(byPresence, /"capabilities":\{"extendedAgentCard":false,/)
  t.match(byPresence, /"securityRequirements":\[\{"schemes":\{"bearer":\{\}\}\}/)
  t.ok(pair)
})

t.test('protected headers name the key; several keys each sign', async (t) => {
  const [one, two] = [createEcKey('one'), createRsaKey('two')]
  const get = await serve(t, {
    signCard: [
      { key: { ...one.privateKey.export({ format: 'jwk' }), kid: 'one' } },
      { key: two.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string, kid: 'two', alg: 'PS512' }
    ]
  })
  const { card } = await get(CARD, V10)
  const headers = card.signatures.map((each) => decodeProtectedHeader(each as never))
  t.same(headers.slice(0, 2), [
    { alg: 'ES256', typ: 'JOSE', kid: 'one' },
    { alg: 'PS512', typ: 'JOSE', kid: 'two' }
  ])
  t.equal(headers.length, 6)
  for (const pair of [one, two]) {
    await verifyAsSdk(card, pair)
    t.ok(await verifyAgentCard(card, { keys: [pair.jwk] }))
  }
  await t.rejects(verifyAgentCard(card, { keys: [createEcKey('one').jwk] }), { code: 'A2A_ERR_BAD_CARD' })
})

t.test('a card is signed once, not for each request', async (t) => {
  let calls = 0
  const signCard: SignCardFunction = async () => {
    calls++
    return { protected: 'e30', signature: Buffer.from(`call ${calls}`).toString('base64url') }
  }
  const get = await serve(t, { signCard })
  const first = await Promise.all(Array.from({ length: 5 }, () => get()))
  const made = calls
  t.equal(made, 4, 'one for each canonical form')
  for (const { headers, card } of [...first, await get('/.well-known/agent.json')]) {
    t.same(card, first[0]!.card)
    t.equal(headers.get('etag'), first[0]!.headers.get('etag'))
  }
  t.equal(calls, made)
  await get(`/a2a/agents/ada${CARD}`)
  t.not(calls, made)
})

t.test('the host that a request names is not signed', async (t) => {
  const { privateKey, kid } = createEcKey()
  const signCard = { key: privateKey, kid }
  const { app } = await buildApp(t, { runnables: [ada], options: { url, signCard } })
  const card = (await app.inject({ url: CARD, headers: { host: 'evil.example' } })).body
  t.notMatch(card, /evil/)
  await t.rejects(buildApp(t, { options: { signCard } }), {
    code: 'A2A_ERR_BAD_OPTION',
    message: /signCard: it needs url/
  })
})

t.test('a function that fails refuses the card, and the next request tries again', async (t) => {
  const faults: unknown[] = [
    new Error('secret of the key service'),
    null,
    { protected: 'a b', signature: 'x' },
    [],
    'x'
  ]
  const get = await serve(t, {
    signCard: () => {
      const fault = faults.shift()
      if (fault instanceof Error) throw fault
      return (fault === undefined ? { protected: 'e30', signature: 'AA' } : fault) as never
    }
  })
  for (let times = 0; times < 5; times++) {
    const { status, card } = await get(CARD, V10)
    t.equal(status, 500)
    t.notMatch(JSON.stringify(card), /secret/)
  }
  t.equal((await get(CARD, V10)).status, 200)
})

t.test('the extended card is signed in the form of each binding', async (t) => {
  const pair = createEcKey()
  const { app, url: at } = await buildApp(t, {
    runnables: [ada],
    options: {
      ...full,
      signCard: { key: pair.privateKey, kid: pair.kid },
      extendedCard: (card, { sub }) => ({ ...card, description: `for ${sub}` })
    }
  })
  const headers = { authorization: 'Bearer me' }
  const { pathname } = new URL(at)
  const call = async (method: string, path: string): Promise<SignedCard> => {
    const payload = { jsonrpc: '2.0', id: 1, method }
    return (await app.inject({ method: 'POST', url: pathname + path, headers, payload })).json<{
      result: SignedCard
    }>().result
  }
  const get = async (path: string) => (await app.inject({ url: pathname + path, headers })).json<SignedCard>()
  const cards = [
    await call('GetExtendedAgentCard', ''),
    await call('GetExtendedAgentCard', '/agents/ada'),
    await get('/extendedAgentCard'),
    await get('/ada/extendedAgentCard'),
    await call('agent/getAuthenticatedExtendedCard', ''),
    await get('/v1/card')
  ]
  for (const [index, card] of cards.entries()) {
    t.match(await verifyAgentCard(card, { keys: [pair.jwk] }), { description: 'for me' }, `card ${index}`)
    if (index < 4) await verifyAsSdk(card, pair)
    else t.ok(await verifyWhole(card, pair))
  }
})

t.test('bad keys fail the registration, without a word of the key', async (t) => {
  const { privateKey, publicKey, jwk, kid } = createEcKey()
  const secret = privateKey.export({ format: 'jwk' })
  const cases: [signCard: unknown, fault: RegExp][] = [
    [{}, /signCard/],
    [[], /signCard/],
    [{ key: privateKey }, /signCard\/kid: must be given/],
    [{ key: publicKey, kid }, /signCard\/key: must be a private key/],
    [{ key: jwk }, /must be a private key/],
    [{ key: { ...secret, d: 'SECRET' }, kid }, /must be a private key/],
    [{ key: 'SECRET', kid }, /must be a private key/],
    [{ key: { kty: 'oct', k: 'c2VjcmV0' }, kid }, /must be a private key/],
    [{ key: createRsaKey('x', 1024).privateKey, kid }, /RSA of 2,048 bits or more/],
    [{ key: createEcKey('x', 'secp256k1').privateKey, kid }, /must be for ECDSA/],
    [{ key: privateKey, kid, alg: 'ES384' }, /signCard\/alg: the key is not for ES384; it is for ES256/],
    [{ key: privateKey, kid, alg: 'none' }, /signCard/],
    [{ key: privateKey, kid, alg: 'HS256' }, /signCard/],
    [{ key: privateKey, kid, jku: 'http://example.org/jwks' }, /signCard/],
    [{ key: privateKey, kid, extra: 1 }, /signCard/]
  ]
  for (const [signCard, message] of cases) {
    const built = buildApp(t, { options: { url, signCard } as A2aOptions })
    const err = await built.then(
      () => undefined,
      (fault: Error & { code: string }) => fault
    )
    t.match(err, { code: 'A2A_ERR_BAD_OPTION', message })
    t.notMatch(err?.message, /SECRET/)
  }
})
