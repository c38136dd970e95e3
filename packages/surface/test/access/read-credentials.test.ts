import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { readCredentials } from '../../src/access/callers.ts'

const NONE = undefined

t.test('a token in the header', (t) => {
  const cases: [authorization: string | undefined, token: string | undefined][] = [
    [undefined, NONE],
    ['', NONE],
    ['Basic dXNlcjpwYXNz', NONE],
    ['Digest bearer', NONE],
    ['Bearerabc', NONE],
    ['a.b.c', NONE],
    ['Bearer a.b.c', 'a.b.c'],
    ['bearer a.b.c', 'a.b.c'],
    ['BEARER   a.b.c', 'a.b.c'],
    ['Bearer\ta.b.c', 'a.b.c'],
    ['Bearer', ''],
    ['Bearer ', ''],
    ['Bearer a.b.c d.e.f', 'a.b.c d.e.f'],
    ['Bearer a.b.c, Bearer d.e.f', 'a.b.c, Bearer d.e.f']
  ]
  for (const [authorization, token] of cases) {
    const headers: IncomingHttpHeaders = { ...(authorization !== undefined && { authorization }) }
    const expected = { headers, cookies: {}, ...(token !== undefined && { token }) }
    t.strictSame(readCredentials(headers), expected, authorization ?? 'nothing')
  }
  t.end()
})

t.test('a token in a cookie', (t) => {
  const cases: [cookie: string | undefined, token: string | undefined][] = [
    [undefined, NONE],
    ['', NONE],
    ['other=a.b.c', NONE],
    ['Token=a.b.c', NONE],
    ['token=a.b.c', 'a.b.c'],
    ['x=1; token=a.b.c; y=2', 'a.b.c'],
    ['token="a.b.c"', '"a.b.c"'],
    ['token=a%2Eb', 'a.b'],
    ['token=%', '%'],
    ['token=', ''],
    ['token', NONE],
    ['token=first; token=second', 'first']
  ]
  for (const [cookie, token] of cases) {
    const headers = { authorization: 'Bearer x.y.z', ...(cookie !== undefined && { cookie }) }
    t.equal(readCredentials(headers, { extractFrom: 'cookie' }).token, token, cookie ?? 'nothing')
  }
  t.end()
})

t.test('only the configured place is read', (t) => {
  const headers = { authorization: 'Bearer a', cookie: 'token=b; session=c' }
  t.equal(readCredentials(headers).token, 'a')
  t.equal(readCredentials(headers, { extractFrom: 'cookie' }).token, 'b')
  t.equal(readCredentials(headers, { extractFrom: 'cookie', cookieName: 'session' }).token, 'c')
  for (const cookieName of ['__proto__', 'constructor', 'toString'])
    t.equal(readCredentials(headers, { extractFrom: 'cookie', cookieName }).token, undefined)
  t.same(readCredentials({ cookie: headers.cookie }).cookies, { token: 'b', session: 'c' })
  const besideToken = { token: 'a', headers: { authorization: 'Bearer a' }, cookies: {} }
  t.strictSame(readCredentials(headers), besideToken, 'a token brings no cookies')
  t.end()
})
