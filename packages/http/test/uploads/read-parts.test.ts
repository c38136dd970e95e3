import t from 'tap'
import { buildUploadApp, untilEmpty } from '../helpers/upload-app.ts'

const field = (name: string, text: string | Buffer = 'x', more = '') =>
  Buffer.concat([
    Buffer.from(`--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`, 'utf8'),
    Buffer.from(text),
    Buffer.from('\r\n')
  ])
const file = (filename: string, text = 'text') => field('files', text, `; filename="${filename}"`)
const end = Buffer.from('--x--\r\n')
const PATHS = ['/up', '/api/agents/reader/run', '/api/agents/reader/stream']

t.test('a malformed or truncated body is 400', async (t) => {
  const { origin, sendRaw, folder } = await buildUploadApp(t)
  const form = 'multipart/form-data; boundary=x'
  const whole = Buffer.concat([field('input'), file('a.txt'), file('b.txt'), end])
  const bodies: [says: string, body: Buffer | string, type?: string][] = [
    ['no boundary', whole, 'multipart/form-data'],
    ['an empty boundary', whole, 'multipart/form-data; boundary='],
    ['a boundary that is too long', whole, `multipart/form-data; boundary=${'y'.repeat(5_000)}`],
    ['another boundary', whole, 'multipart/form-data; boundary=y'],
    ['nothing', '', form],
    ['no form', 'garbage', form],
    ['JSON', '{"input":"x"}', form],
    ['no end', Buffer.concat([field('input'), file('a.txt')])],
    [
      'no name',
      Buffer.concat([field('input'), Buffer.from('--x\r\nContent-Disposition: form-data\r\n\r\nx\r\n'), end])
    ],
    ['an empty name', Buffer.concat([field('input'), field(''), end])],
    [
      'no disposition',
      Buffer.concat([field('input'), Buffer.from('--x\r\nContent-Type: a/b\r\n\r\nx\r\n'), end])
    ],
    ['no headers', Buffer.concat([field('input'), Buffer.from('--x\r\n\r\nx\r\n'), end])],
    [
      'a part of no form',
      Buffer.concat([
        field('input'),
        Buffer.from('--x\r\nContent-Disposition: attachment; name="a"\r\n\r\nx\r\n'),
        end
      ])
    ],
    ['a line break in a file name', Buffer.concat([field('input'), file('a\nb'), end])],
    ['a file without a name', Buffer.concat([field('input'), file(''), end])],
    ['__proto__', Buffer.concat([field('input'), field('__proto__'), end])],
    ['__proto__ as a file', Buffer.concat([field('input'), field('__proto__', 'x', '; filename="a"'), end])],
    ['constructor', Buffer.concat([field('input'), field('constructor'), end])],
    ['prototype', Buffer.concat([field('input'), field('prototype'), end])],
    ['toString', Buffer.concat([field('input'), field('toString'), end])],
    ['a field twice', Buffer.concat([field('input'), field('input'), end])],
    ['text that is not UTF-8', Buffer.concat([field('input', Buffer.from([0xc3, 0x28])), end])],
    ['half of a surrogate pair', Buffer.concat([field('input', Buffer.from([0xed, 0xa0, 0x80])), end])],
    [
      'a name that is not UTF-8',
      Buffer.concat([
        field('input'),
        Buffer.from('--x\r\nContent-Disposition: form-data; name="\xff"\r\n\r\n\r\n', 'latin1'),
        end
      ])
    ]
  ]
  for (let cut = 1; cut < whole.length - 4; cut += 7) bodies.push([`cut at ${cut}`, whole.subarray(0, cut)])
  for (const path of PATHS) {
    for (const [says, body, type = form] of bodies) {
      const response = await fetch(origin + path, {
        method: 'POST',
        headers: { 'content-type': type },
        body: new Uint8Array(Buffer.from(body as string)),
        signal: AbortSignal.timeout(5_000)
      })
      t.equal(response.status, 400, `${says} to ${path}`)
      t.match(await response.json(), { code: 'HTTP_ERR_BAD_MULTIPART' }, says)
    }
    const answer = await sendRaw(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: ${form}\r\n`,
      `Transfer-Encoding: chunked\r\n\r\n${whole.length.toString(16)}\r\n`,
      whole,
      '\r\nnonsense\r\n'
    )
    t.match(answer, /^HTTP\/1\.1 400 /, 'broken chunks')
  }
  await untilEmpty(folder)
})

t.test('unusual but valid bodies', async (t) => {
  const { origin, folder } = await buildUploadApp(t)
  const bodies: [says: string, body: Buffer][] = [
    [
      'something before and after',
      Buffer.concat([Buffer.from('hello\r\n'), field('input'), end, Buffer.from('bye')])
    ],
    ['an unfilled file input', Buffer.concat([field('input'), file('', ''), end])],
    ['delimiters that are none', Buffer.concat([field('input', 'a--x--\r\n--\r\n\r\n-x'), end])],
    [
      'text with a charset',
      Buffer.from(
        '--x\r\nContent-Type: text/plain; charset=latin1\r\nContent-Disposition: form-data; name="input"\r\n\r\nä\r\n--x--'
      )
    ],
    [
      'JSON as text',
      Buffer.from(
        '--x\r\nContent-Type: application/json\r\nContent-Disposition: form-data; name="input"\r\n\r\n{\r\n--x--'
      )
    ]
  ]
  for (const path of PATHS) {
    for (const [says, body] of bodies) {
      const response = await fetch(origin + path, {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary="x"' },
        body: new Uint8Array(body)
      })
      t.equal(response.status, 200, `${says} to ${path}`)
      await response.text()
    }
  }
  await untilEmpty(folder)
})

t.test('filename* counts, wherever it stands (RFC 6266)', async (t) => {
  const { origin, folder } = await buildUploadApp(t)
  const plain = 'filename="plain.txt"'
  const extended = "filename*=UTF-8''na%C3%AFve%20plan.txt"
  const names: [sent: string, seen: string][] = [
    [`${plain}; ${extended}`, 'naïve plan.txt'],
    [`${extended}; ${plain}`, 'naïve plan.txt'],
    [extended, 'naïve plan.txt'],
    [`FileName* = iso-8859-1'en'na%EFve; ${plain}`, 'naïve'],
    [`filename*=UTF-8''na%EFve; ${plain}`, 'plain.txt'],
    [`filename*=UTF-16''a; ${plain}`, 'plain.txt'],
    [`filename*="UTF-8''a"; ${plain}`, 'plain.txt'],
    [`filename="a; filename*=UTF-8''b"`, "a; filename*=UTF-8''b"]
  ]
  const body = Buffer.concat([
    field('input'),
    ...names.map(([sent]) => field('files', 'text', `; ${sent}`)),
    end
  ])
  const seenIn = async (response: Response) =>
    ((await response.json()) as { files: { filename?: string }[] }).files.map(({ filename }) => filename)
  const request = { method: 'POST', headers: { 'content-type': 'multipart/form-data; boundary=x' } }
  const response = await fetch(`${origin}/up`, { ...request, body: new Uint8Array(body) })
  const seen = names.map(([, name]) => name)
  t.strictSame(await seenIn(response), seen)
  await untilEmpty(folder)
})

t.test('hostile file names become labels', async (t) => {
  const { origin, folder } = await buildUploadApp(t)
  const names: [sent: string, seen: string | undefined][] = [
    ['../../etc/passwd', 'passwd'],
    ['/etc/passwd', 'passwd'],
    ['a\0b', 'ab'],
    ['n'.repeat(10_000), 'n'.repeat(255)],
    ['Grüße 文書 🎉.txt', 'Grüße 文書 🎉.txt'],
    ['C:\\x', 'x'],
    ['..\\..\\x', 'x'],
    ['..', undefined],
    ['/', undefined],
    ['%2e%2e%2fx', '%2e%2e%2fx'],
    ['a"; name="other', 'a']
  ]
  for (const [sent, seen] of names) {
    const response = await fetch(`${origin}/up`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      body: new Uint8Array(Buffer.concat([file(sent), end]))
    })
    t.equal(response.status, 200)
    const { files } = (await response.json()) as { files: { filename?: string }[] }
    t.equal(files.length, 1)
    t.equal(files[0]?.filename, seen, JSON.stringify(sent.slice(0, 30)))
  }
  const folded = await fetch(`${origin}/up`, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    body: new Uint8Array(Buffer.concat([file('a\r\nContent-Type: image/png\r\n\r\nb'), end]))
  })
  t.ok(folded.status < 500, String(folded.status))
  await untilEmpty(folder)
})
