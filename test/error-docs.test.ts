import { access, readdir, readFile } from 'node:fs/promises'
import type { ErrorClass } from '@svc/contract'
import { errorHandler, type ErrorBody } from '@svc/http'
import Fastify from 'fastify'
import t from 'tap'

const ROOT = new URL('../', import.meta.url)
const ROW = /^\| `([A-Z0-9]+_ERR_[A-Z0-9_]+)` \| (\d{3}) \|/gm
/** Their users find the codes in `docs/errors.md`. */
const WITHOUT_TABLE = new Set(['contract', 'registry', 'store', 'surface'])

const catalogues = new Map<string, Record<string, number>>()
for (const name of await readdir(new URL('packages', ROOT))) {
  const source = new URL(`packages/${name}/src/`, ROOT)
  const { errors } = (await import(new URL('index.ts', source).href)) as {
    errors?: Record<string, ErrorClass<string[]>>
  }
  const hasCatalogue = await access(new URL('errors.ts', source)).then(
    () => true,
    () => false
  )
  if (hasCatalogue && errors === undefined) throw new Error(`@svc/${name} exports no \`errors\``)
  if (errors === undefined) continue
  const others = Object.keys(errors).filter((name) => !/^[A-Z0-9]+_ERR_[A-Z0-9_]+$/.test(name))
  if (others.length > 0) throw new Error(`packages/${name}/src/errors.ts exports ${others.join(', ')}`)
  const made = Object.entries(errors).map(([code, Fault]) => [code, new Fault('x', 'y', 'z')] as const)
  for (const [code, fault] of made) t.equal(fault.code, code, `@svc/${name} has ${code} by its code`)
  catalogues.set(name, Object.fromEntries(made.map(([code, { statusCode }]) => [code, statusCode])))
}

const tableOf = async (path: string) =>
  Object.fromEntries(
    [...(await readFile(new URL(path, ROOT), 'utf8')).matchAll(ROW)].map(([, code, status]) => [
      code,
      Number(status)
    ])
  )

t.test('docs/errors.md lists exactly the exported codes, with their status', async (t) => {
  t.same(await tableOf('docs/errors.md'), Object.assign({}, ...catalogues.values()))
})

for (const [name, catalogue] of catalogues)
  if (!WITHOUT_TABLE.has(name))
    t.test(`the README of @svc/${name} lists exactly its errors, with their status`, async (t) => {
      t.same(await tableOf(`packages/${name}/README.md`), catalogue)
    })

t.test('no error of an app passes for one of a catalogue', async (t) => {
  const app = Fastify()
  await app.register(errorHandler)
  app.get('/fails/:code', (request) => {
    throw Object.assign(new Error('forged'), { statusCode: 400, ...(request.params as { code: string }) })
  })
  const codes = [...catalogues.values()].flatMap((catalogue) => Object.keys(catalogue))
  t.ok(codes.length > 250)
  for (const code of [...codes, 'FST_ERR_NOT_FOUND', 'ERR_HTTP_HEADERS_SENT'])
    t.equal((await app.inject(`/fails/${code}`)).json<ErrorBody>().code, 'HTTP_ERR_BAD_REQUEST', code)
  t.equal((await app.inject('/fails/TEA_ERR_POT')).json<ErrorBody>().code, 'TEA_ERR_POT')
})
