import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { checkOrigin } from '../../src/auth/check-origin.ts'

const REFUSED = { code: 'HTTP_ERR_CROSS_ORIGIN', statusCode: 403 }
const ask = (method: string, host: string, headers: IncomingHttpHeaders) => () =>
  checkOrigin({ method, host, headers: { cookie: 'token=t', ...headers } })

t.test('unsafe requests from another origin are refused', (t) => {
  const bad: [host: string, headers: IncomingHttpHeaders][] = [
    ['us.example', { origin: 'https://evil.example' }],
    ['us.example', { origin: 'https://us.example.evil.example' }],
    ['us.example', { origin: 'https://evil.example/us.example' }],
    ['us.example', { origin: 'https://sub.us.example' }],
    ['us.example', { origin: 'https://us.example:8443' }],
    ['us.example:8080', { origin: 'http://us.example:8081' }],
    ['us.example', { origin: 'null' }],
    ['us.example', { origin: '' }],
    ['us.example', { origin: 'us.example' }],
    ['', { origin: 'https://us.example' }],
    ['', { origin: 'file://' }],
    ['us.example', { 'sec-fetch-site': 'cross-site' }],
    ['us.example', { origin: 'https://us.example', 'sec-fetch-site': 'cross-site' }]
  ]
  for (const [host, headers] of bad) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      t.throws(ask(method, host, headers), REFUSED, `${method} ${JSON.stringify(headers)}`)
    for (const method of ['GET', 'HEAD', 'OPTIONS']) t.doesNotThrow(ask(method, host, headers))
  }
  t.end()
})

t.test('the same origin and clients without an origin are allowed', (t) => {
  const good: [host: string, headers: IncomingHttpHeaders][] = [
    ['us.example', {}],
    ['us.example', { origin: 'https://us.example' }],
    ['us.example', { origin: 'http://us.example', 'sec-fetch-site': 'same-origin' }],
    ['US.example:443', { origin: 'https://us.example' }],
    ['us.example:8080', { origin: 'http://us.example:8080' }],
    ['[::1]:8080', { origin: 'http://[::1]:8080' }],
    ['us.example', { 'sec-fetch-site': 'none' }]
  ]
  for (const [host, headers] of good) t.doesNotThrow(ask('POST', host, headers), JSON.stringify(headers))
  t.end()
})
