import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'

const big = 'x'.repeat(5_000_000)
const body = JSON.stringify({ input: big })
const json = { 'content-type': 'application/json' }
const options = { fileUpload: { maxFileSize: 1_000 } }

function form(): FormData {
  const made = new FormData()
  made.append('files', new Blob([big]), 'big.txt')
  return made
}

t.test('a client with a large body reads its refusal', async (t) => {
  const { url, as } = await buildSecuredApp(t, { runnables: [echo], options })
  const ann = as('ann', 'agents:run')
  const run = '/agents/echo/run'
  const refused: [status: number, code: string, path: string, init: () => RequestInit][] = [
    [401, 'HTTP_ERR_NO_TOKEN', run, () => ({ headers: json, body })],
    [403, 'HTTP_ERR_MISSING_SCOPE', run, () => ({ headers: { ...json, ...as('bob') }, body })],
    [404, 'HTTP_ERR_UNKNOWN_RUNNABLE', '/agents/none/run', () => ({ headers: { ...json, ...ann }, body })],
    [404, 'HTTP_ERR_UNKNOWN_RUNNABLE', '/agents/none/stream', () => ({ headers: ann, body: form() })],
    [413, 'HTTP_ERR_BODY_TOO_LARGE', run, () => ({ headers: { ...json, ...ann }, body })],
    [413, 'HTTP_ERR_UPLOAD_TOO_LARGE', run, () => ({ headers: ann, body: form() })],
    [415, 'HTTP_ERR_UNSUPPORTED_MEDIA_TYPE', run, () => ({ headers: ann, body })]
  ]
  for (const [status, code, path, init] of refused) {
    const sending = Array.from({ length: 10 }, () => fetch(url + path, { method: 'POST', ...init() }))
    for (const response of await Promise.all(sending)) await requireError(t, response, status, code)
  }
})

t.test('also a client that reads only after sending, and the connection stays usable', async (t) => {
  const { origin, as } = await buildSecuredApp(t, { runnables: [echo], options })
  const authorization = as('ann', 'agents:run')['authorization']!
  for (const [status, header] of [
    ['401', ''],
    ['413', `Authorization: ${authorization}\r\n`]
  ] as const) {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.pause()
    const head = `POST /api/agents/echo/run HTTP/1.1\r\nHost: localhost\r\n${header}Content-Type: application/json\r\n`
    socket.write(`${head}Content-Length: ${body.length}\r\n\r\n`)
    await new Promise<void>((resolve, reject) => socket.write(body, (err) => (err ? reject(err) : resolve())))
    const [answer] = (await once(socket.resume(), 'data')) as [Buffer]
    t.match(String(answer), new RegExp(`^HTTP/1.1 ${status} `))
    socket.write('GET /api/livez HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const [next] = (await once(socket, 'data')) as [Buffer]
    t.match(String(next), /^HTTP\/1.1 200 /)
  }
})

t.test('a client with Connection: close reads its refusal too', async (t) => {
  const { origin, as } = await buildSecuredApp(t, { runnables: [echo], options })
  const authorization = as('ann', 'agents:run')['authorization']!
  for (const [status, header] of [
    ['401', ''],
    ['413', `Authorization: ${authorization}\r\n`]
  ] as const) {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1')
    socket.pause()
    const head = `POST /api/agents/echo/run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${header}`
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`)
    await new Promise<void>((resolve, reject) => socket.write(body, (err) => (err ? reject(err) : resolve())))
    let text = ''
    socket.setEncoding('utf8').on('data', (more: string) => (text += more))
    await once(socket.resume(), 'close')
    t.match(text, new RegExp(`^HTTP/1.1 ${status} [^]*"statusCode":${status}`))
  }
})

t.test('a client that keeps sending is cut off', { timeout: 60_000 }, async (t) => {
  const { origin } = await buildSecuredApp(t, { runnables: [echo] })
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  socket.on('error', () => {})
  const head = 'POST /api/agents/echo/run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  socket.write(`${head}Content-Length: 999999999\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  t.match(String(answer), /^HTTP\/1.1 401 /)
  const sending = setInterval(() => socket.write('x'), 50)
  t.teardown(() => clearInterval(sending))
  // Perhaps by a reset, which `once` would take for a failure.
  await new Promise((resolve) => socket.once('close', resolve))
})
