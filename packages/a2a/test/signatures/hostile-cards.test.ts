import { createHmac, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildAgentCard, signAgentCard, verifyAgentCard, type VerifyCard } from '@svc/a2a'
import canonicalize from 'canonicalize'
import t from 'tap'
import { createEcKey, createRsaKey } from '../helpers/card-keys.ts'

const url = 'https://agents.example.org/a2a'
const pair = createEcKey()
const rsa = createRsaKey()
const signCard = { key: pair.privateKey, kid: pair.kid }
const keys = [pair.jwk, rsa.jwk]
const card = buildAgentCard({ kind: 'agent', name: 'ada' }, url)
const signed = await signAgentCard(card, signCard)
const [first] = signed.signatures
const other = await signAgentCard({ ...card, name: 'bob' }, signCard)

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const inputOf = (header: string, payload = canonicalize(card)!) =>
  Buffer.from(`${header}.${Buffer.from(payload).toString('base64url')}`)

/** A signature with any header, made with the right key. */
function forge(header: object, key = pair.privateKey) {
  const encoded = encode(header)
  const signature = sign('sha256', inputOf(encoded), { key, dsaEncoding: 'ieee-p1363' })
  return { protected: encoded, signature: signature.toString('base64url') }
}

const withSignatures = (...signatures: unknown[]) => ({ ...card, signatures })
const refused = { code: 'A2A_ERR_BAD_CARD', statusCode: 502 }

t.test('a forged signature is known to work where the header is right', async (t) => {
  const { alg, kid } = { alg: 'ES256', kid: pair.kid }
  t.match(await verifyAgentCard(withSignatures(forge({ alg, kid })), { keys }), { name: 'ada' })
  t.match(await verifyAgentCard(withSignatures(forge({ alg })), { keys }), { name: 'ada' })
})

t.test('unsigned, changed, and wrongly signed cards are refused', async (t) => {
  const none = { protected: encode({ alg: 'none' }), signature: '' }
  const hs256 = encode({ alg: 'HS256', kid: rsa.kid })
  const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' })
  const hmac = {
    protected: hs256,
    signature: createHmac('sha256', pem).update(inputOf(hs256)).digest('base64url')
  }
  const right = { alg: 'ES256', kid: pair.kid }
  const cases: [name: string, given: object, says: RegExp][] = [
    ['no signatures', card, /it is not signed/],
    ['an empty list', withSignatures(), /it is not signed/],
    ['null', { ...card, signatures: null }, /it is not signed/],
    ['no list', { ...card, signatures: first }, /no list/],
    ['a changed name', { ...signed, name: 'eve' }, /no signature is valid/],
    ['a changed URL', { ...signed, url: 'https://evil.example/', supportedInterfaces: [] }, /no signature/],
    ['the signature of another card', withSignatures(...other.signatures), /no signature is valid/],
    ['alg none', withSignatures(none, { ...none, signature: 'AA' }), /no signature is valid/],
    ['no alg', withSignatures(forge({ kid: pair.kid })), /no signature is valid/],
    ['an unknown alg', withSignatures(forge({ ...right, alg: 'ES256K' })), /no signature is valid/],
    ['alg as a list', withSignatures(forge({ ...right, alg: ['ES256'] })), /no signature is valid/],
    ['alg of another key', withSignatures(forge({ ...right, alg: 'RS256' })), /no signature is valid/],
    ['the public key as a secret', withSignatures(hmac), /no signature is valid/],
    ['crit', withSignatures(forge({ ...right, crit: ['exp'], exp: 1 })), /no signature is valid/],
    ['crit with b64', withSignatures(forge({ ...right, crit: ['b64'], b64: true })), /no signature is valid/],
    ['b64 alone', withSignatures(forge({ ...right, b64: false, crit: [] })), /no signature is valid/],
    ['a kid that is unknown', withSignatures(forge({ ...right, kid: 'other' })), /no signature is valid/],
    ['a kid that is no text', withSignatures(forge({ ...right, kid: { $ne: 1 } })), /no signature is valid/],
    ['a jku that is no text', withSignatures(forge({ ...right, jku: [url] })), /no signature is valid/],
    [
      'alg in the unprotected header',
      withSignatures({ ...forge({ kid: pair.kid }), header: { alg: 'ES256' } }),
      /no/
    ],
    ['no header', withSignatures({ signature: first!.signature }), /no signature is valid/],
    ['a header that is no JSON', withSignatures({ ...first, protected: 'AAAA' }), /no signature is valid/],
    ['a header that is a list', withSignatures({ ...first, protected: encode([right]) }), /no signature/],
    [
      'entries of other types',
      withSignatures(null, 1, 'x', [], { protected: 1, signature: {} }),
      /no signature/
    ],
    ['a long signature', withSignatures({ ...first, signature: 'A'.repeat(20_000) }), /no signature/],
    [
      'many signatures',
      withSignatures(...Array.from({ length: 33 }, () => first)),
      /more than 32 signatures/
    ],
    ['a lone surrogate', { ...signed, name: '\ud800' }, /no canonical form/],
    [
      'deep nesting',
      { ...signed, capabilities: { extensions: [{ params: deep(100_000) }] } },
      /no canonical form/
    ]
  ]
  for (const [name, given, message] of cases)
    await t.rejects(verifyAgentCard(given, { keys }), { ...refused, message }, name)
  t.match(await verifyAgentCard(withSignatures(hmac, none, ...signed.signatures), { keys }), { name: 'ada' })
  await t.rejects(
    verifyAgentCard(signed, { keys: [createEcKey().jwk] }),
    refused,
    'another key with this kid'
  )
  await t.rejects(
    verifyAgentCard(signed, { keys, algorithms: ['RS256'] }),
    refused,
    'an algorithm not accepted'
  )
})

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = { a: value }
  return value
}

t.test('of a card, only what the signature covers comes back', async (t) => {
  const pure = await signAgentCard(
    buildAgentCard({ kind: 'agent', name: 'ada' }, url, undefined, { versions: ['1.0'] }),
    signCard
  )
  const covered = await verifyAgentCard(
    { ...pure, url: 'https://evil.example/', protocolVersion: '0.3.0' },
    { keys }
  )
  t.match(covered, { name: 'ada', supportedInterfaces: [{ url }] })
  t.notMatch(JSON.stringify(covered), /evil/)
})

t.test('keys by a function, and a decision by a function', async (t) => {
  for (const key of [pair.jwk, pair.publicKey, pair.publicKey.export({ type: 'spki', format: 'pem' })]) {
    const seen: object[] = []
    const verify: VerifyCard = { keys: (header) => (seen.push(header), key as never) }
    t.match(await verifyAgentCard(signed, verify), { name: 'ada' })
    t.match(seen[0], { alg: 'ES256', kid: pair.kid })
  }
  await t.rejects(verifyAgentCard(signed, { keys: () => undefined }), refused)
  await t.rejects(verifyAgentCard(signed, { keys: () => 'no key' }), refused)
  await t.rejects(verifyAgentCard(signed, { keys: () => rsa.publicKey }), refused)

  t.match(await verifyAgentCard(signed, (given, signatures) => 'name' in given && signatures.length > 0), {
    name: 'ada'
  })
  t.match(
    await verifyAgentCard(
      card,
      async (given, signatures) => !('signatures' in given) && signatures.length === 0
    ),
    card
  )
  for (const answer of [false, undefined, 'yes', 1])
    await t.rejects(
      verifyAgentCard(signed, () => answer as never),
      { ...refused, message: /verify refused it/ }
    )
})

t.test(
  'an unsigned card passes where signatures are not required, a badly signed one does not',
  async (t) => {
    t.match(await verifyAgentCard(card, { keys, required: false }), card)
    await t.rejects(verifyAgentCard({ ...signed, name: 'eve' }, { keys, required: false }), refused)
  }
)

t.test(
  'a key set is fetched from its URL; one that a signature names only where it is allowed',
  async (t) => {
    const asked: string[] = []
    let body = JSON.stringify({ keys: [pair.jwk] })
    const server = createServer((request, response) => {
      asked.push(request.url!)
      if (request.url === '/moved') response.writeHead(302, { location: '/jwks' })
      response.end(body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    t.match(await verifyAgentCard(signed, { keys: `${origin}/jwks` }), { name: 'ada' })
    t.same(asked.splice(0), ['/jwks'])

    const jku = await signAgentCard(card, { ...signCard, jku: `${origin}/named` })
    t.match(await verifyAgentCard(jku, { jku: [`${origin}/named`] }), { name: 'ada' })
    t.same(asked.splice(0), ['/named'])
    t.match(await verifyAgentCard(jku, { keys, jku: [`${origin}/named`] }), { name: 'ada' })
    for (const allowed of [`${origin}/named?x`, `${origin}/`, `${origin}/named/`])
      await t.rejects(verifyAgentCard(jku, { jku: [allowed] }), refused, allowed)
    await t.rejects(verifyAgentCard(jku, { keys: [rsa.jwk] }), refused)
    t.same(asked, [], 'known keys and other URLs cause no fetch')

    const unreachable = { code: 'A2A_ERR_REMOTE', message: /the keys of its card cannot be fetched/ }
    for (const bad of ['no JSON', '[]', '{}', `{"keys":[],"x":"${'x'.repeat(1_100_000)}"}`]) {
      body = bad
      await t.rejects(verifyAgentCard(signed, { keys: `${origin}/jwks` }), unreachable, bad.slice(0, 20))
    }
    body = JSON.stringify({ keys: [pair.jwk] })
    await t.rejects(
      verifyAgentCard(signed, { keys: `${origin}/moved` }),
      unreachable,
      'redirects are not followed'
    )
    body = JSON.stringify({
      keys: [
        { ...pair.jwk, kid: undefined },
        { ...createEcKey().jwk, kid: undefined }
      ]
    })
    t.match(await verifyAgentCard(withSignatures(forge({ alg: 'ES256' })), { keys: `${origin}/jwks` }), {
      name: 'ada'
    })
  }
)
