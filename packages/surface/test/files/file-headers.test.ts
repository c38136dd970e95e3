import { validateHeaderValue } from 'node:http'
import { cases } from '@tools/wires/volume'
import { parse } from 'content-disposition'
import * as fc from 'fast-check'
import t from 'tap'
import { headersOf } from '../../src/files/send-file.ts'

const typeOf = (mimeType: string) => headersOf({ mimeType })['content-type']
const dispositionOf = (mimeType: string, filename?: string) =>
  headersOf({ mimeType, ...(filename !== undefined && { filename }) })['content-disposition']!

t.test(
  'types that browsers show without running anything are inline, all others are downloads',
  async (t) => {
    const shown = [
      'image/png',
      'IMAGE/JPEG',
      'image/webp',
      'audio/wav',
      'video/mp4',
      'text/plain; charset=utf-8'
    ]
    for (const type of shown) t.equal(dispositionOf(type), 'inline', type)
    const active = [
      'text/html',
      'image/svg+xml',
      'application/xhtml+xml',
      'audio/x+xml',
      'video/x.y+xml',
      'text/xml'
    ]
    const others = [
      'application/pdf',
      'text/javascript',
      'text/csv',
      'multipart/x-mixed-replace',
      'image/x-other',
      ''
    ]
    for (const type of [...active, ...others]) t.equal(dispositionOf(type), 'attachment', type)
  }
)

t.test('only players may load anything, and only from the same origin', async (t) => {
  const policyOf = (mimeType: string) => headersOf({ mimeType })['content-security-policy']!
  for (const type of ['text/html', 'image/svg+xml', 'image/png', 'application/pdf', 'nonsense'])
    t.match(policyOf(type), /^sandbox; default-src 'none'; style-src 'unsafe-inline'$/, type)
  t.match(policyOf('audio/wav'), /^sandbox allow-same-origin; default-src 'none'; media-src 'self';/)
})

t.test('a type that is none is that of any bytes', async (t) => {
  t.equal(typeOf('Text/CSV;header=present'), 'text/csv;header=present')
  for (const type of [
    '',
    'image',
    'image/',
    '/png',
    'image/png\r\nx: y',
    'image/p ng',
    'text/html\u0000',
    'é/x'
  ])
    t.equal(typeOf(type), 'application/octet-stream', type)
})

t.test('names', async (t) => {
  t.equal(dispositionOf('text/csv', 'a b.csv'), 'attachment; filename="a b.csv"')
  t.equal(
    dispositionOf('text/csv', 'Prüfung 😀.csv'),
    `attachment; filename="Pr?fung ??.csv"; filename*=UTF-8''Pr%C3%BCfung%20%F0%9F%98%80.csv`
  )
  t.equal(parse(dispositionOf('text/csv', 'a"b\\c.csv')).parameters['filename'], 'a"b_c.csv')
  t.equal(parse(dispositionOf('text/csv', '../../etc/passwd')).parameters['filename'], '.._.._etc_passwd')
  t.equal(
    parse(dispositionOf('text/csv', 'x\r\nset-cookie: a=b')).parameters['filename'],
    'x__set-cookie: a=b'
  )
  t.equal(parse(dispositionOf('text/csv', 'gpj.\u202Eexe')).parameters['filename'], 'gpj._exe')
  for (const none of ['', ' ', undefined]) t.equal(dispositionOf('text/csv', none), 'attachment')
  t.ok(dispositionOf('text/csv', '😀'.repeat(100_000)).length < 5_000)
  t.match(dispositionOf('text/csv', `${'a'.repeat(199)}😀`), /%EF%BF%BD/, 'a cut pair of surrogates')
})

t.test('any name and type make headers that can be sent', async () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string())
  const type = fc.oneof(
    text,
    fc.tuple(text, text).map(([a, b]) => `text/plain;${a}="${b}"`)
  )
  fc.assert(
    fc.property(type, text, fc.constantFrom('', '\uD800', '\r\n', '\u0000'), (mimeType, name, more) => {
      const headers = headersOf({ mimeType, filename: name + more })
      for (const [header, value] of Object.entries(headers)) validateHeaderValue(header, value)
    }),
    { numRuns: cases(5_000) }
  )
})
