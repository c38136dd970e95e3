import { readdir, readFile } from 'node:fs/promises'
import { errorHandler, type ErrorBody } from '@svc/http'
import Fastify from 'fastify'
import t from 'tap'

type FaultClass = new (...args: unknown[]) => { statusCode: number }

const ROOT = new URL('../', import.meta.url)

const real = new Map<string, number>()
for (const name of await readdir(new URL('packages', ROOT))) {
  const catalogue = new URL(`packages/${name}/src/errors.ts`, ROOT)
  const exported = await import(catalogue.href).catch(() => ({}))
  for (const [code, Fault] of Object.entries(exported as Record<string, FaultClass>)) {
    if (/^[A-Z0-9]+_ERR_/.test(code)) real.set(code, new Fault('', '', '').statusCode)
  }
}

t.test('docs/errors.md lists exactly the exported codes, with their status', async (t) => {
  const page = await readFile(new URL('docs/errors.md', ROOT), 'utf8')
  const documented = new Map<string, number>(
    [...page.matchAll(/^\| `([A-Z0-9]+_ERR_[A-Z0-9_]+)` \| (\d{3}) \|/gm)].map(([, code = '', status]) => [
      code,
      Number(status)
    ])
  )
  t.same(Object.fromEntries(documented), Object.fromEntries(real))
})

t.test('no error of an app passes for one of a catalogue', async (t) => {
  const app = Fastify()
  await app.register(errorHandler)
  app.get('/fails/:code', (request) => {
    throw Object.assign(new Error('forged'), { statusCode: 400, ...(request.params as { code: string }) })
  })
  t.ok(real.size > 250)
  for (const code of [...real.keys(), 'FST_ERR_NOT_FOUND', 'ERR_HTTP_HEADERS_SENT'])
    t.equal((await app.inject(`/fails/${code}`)).json<ErrorBody>().code, 'HTTP_ERR_BAD_REQUEST', code)
  t.equal((await app.inject('/fails/TEA_ERR_POT')).json<ErrorBody>().code, 'TEA_ERR_POT')
})
