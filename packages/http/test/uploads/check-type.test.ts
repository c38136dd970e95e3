import { Buffer } from 'node:buffer'
import t from 'tap'
import { requireDeclaredType, resolveType } from '../../src/uploads/read-uploads.ts'
import { samples } from '../helpers/file-samples.ts'

const refused = { code: 'HTTP_ERR_UPLOAD_TYPE', statusCode: 415 }

t.test('content that matches its declared type', async (t) => {
  const honest: [declared: string, sample: Uint8Array][] = [
    ['image/png', samples.png],
    ['image/jpeg', samples.jpeg],
    ['image/jpg', samples.jpeg],
    ['image/gif', samples.gif],
    ['application/pdf', samples.pdf],
    ['application/zip', samples.zip],
    ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', samples.zip],
    ['application/vnd.some.format', samples.zip],
    ['application/vnd.some.format', samples.json],
    ['text/plain', samples.text],
    ['text/plain', samples.empty],
    ['text/html', samples.html],
    ['text/html', samples.xml],
    ['text/csv', Buffer.from('BMW,MZ\n1,2')],
    ['text/plain', Buffer.from('MZ is a city code')],
    ['text/plain', Buffer.from('ID3 tags, explained')],
    ['image/svg+xml', samples.xml],
    ['application/json', samples.json],
    ['audio/mpeg', Buffer.from([0, 0, 0, 0])]
  ]
  for (const [declared, sample] of honest) {
    t.equal(await resolveType(declared, sample, undefined), declared, declared)
  }
})

t.test('content that contradicts its declared type', async (t) => {
  const lies: [declared: string, sample: Uint8Array][] = [
    ['text/plain', samples.png],
    ['text/html', samples.exe],
    ['text/csv', samples.zip],
    ['text/plain', samples.pdf],
    ['application/json', samples.png],
    ['image/svg+xml', samples.png],
    ['image/png', samples.html],
    ['image/png', samples.jpeg],
    ['image/png', samples.empty],
    ['image/png', samples.png.subarray(0, 4)],
    ['image/jpeg', samples.text],
    ['application/pdf', samples.exe],
    ['application/pdf', samples.zip],
    ['application/zip', samples.text],
    ['application/vnd.some.format', samples.exe],
    ['video/x-unknown', samples.zip]
  ]
  for (const [declared, sample] of lies) {
    await t.rejects(resolveType(declared, sample, undefined), refused, declared)
  }
})

t.test('the type of application/octet-stream is detected', async (t) => {
  const resolve = (sample: Uint8Array, allowed?: string[]) =>
    resolveType('application/octet-stream', sample, allowed)
  t.equal(await resolve(samples.png), 'image/png')
  t.equal(await resolve(samples.text), 'application/octet-stream')
  t.equal(await resolve(samples.png, ['image/*']), 'image/png')
  await t.rejects(resolve(samples.exe, ['image/*']), refused)
  await t.rejects(resolve(samples.text, ['text/plain']), refused)
})

t.test('only permitted types', async (t) => {
  const allowed = ['image/*', 'application/pdf']
  for (const good of ['image/png', 'image/x-new', 'application/pdf', 'application/octet-stream']) {
    t.doesNotThrow(() => requireDeclaredType(good, allowed), good)
    t.doesNotThrow(() => requireDeclaredType(good, undefined), good)
  }
  for (const bad of ['text/plain', 'application/pdfx', 'imagex/png', 'image', 'image/', '*/*; x', '']) {
    t.throws(() => requireDeclaredType(bad, allowed), refused, bad)
  }
  for (const none of ['image', 'a/b/c', 'a b/c', '/', `a/${'b'.repeat(254)}`]) {
    t.throws(() => requireDeclaredType(none, undefined), refused, none)
  }
})

t.test('any bytes give a type or a refusal', async (t) => {
  for (const magic of Object.values(samples)) {
    for (let cut = 0; cut <= magic.length; cut++) {
      const sample = Buffer.concat([magic.subarray(0, cut), Buffer.alloc(cut * 7, cut)])
      await resolveType('application/octet-stream', sample, undefined)
      await resolveType('image/png', sample, undefined).catch((err) => t.match(err, refused))
    }
  }
})
