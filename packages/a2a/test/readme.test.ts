import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { A2aOptionsSchema, errors } from '@svc/a2a'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { OPERATION_NAMES, OPERATIONS } from '../src/operations.ts'
import { toFault } from '../src/wire/to-fault.ts'

const readme = readFileSync(resolve(import.meta.dirname, '../README.md'), 'utf8')

/** The rows of the table under a heading, each with the text of its cells. */
function tableUnder(heading: string): string[][] {
  const section = readme.slice(readme.indexOf(`## ${heading}\n`)).split('\n## ', 2)[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', ''))
  )
}

t.test('the example runs', async (t) => {
  const [, code = ''] = /```ts\n([^]*?)```/.exec(readme) ?? []
  t.same(
    [...code.matchAll(/from '(.*)'/g)].map(([, name]) => name),
    ['@svc/a2a', 'fastify'],
    'with nothing else'
  )
  const program = `${code.replace('port: 3000', 'port: 0')}\nexport { app }\n`
  const file = resolve(t.testdir({ 'example.ts': program }), 'example.ts')
  const { app } = (await import(pathToFileURL(file).href)) as { app: FastifyInstance }
  t.teardown(() => app.close())
  const [, body = ''] = /-d '(\{.*\})'/.exec(readme) ?? []
  const response = await app.inject({ method: 'POST', url: '/a2a', payload: JSON.parse(body) as object })
  t.match(response.json(), { result: { artifacts: [{ parts: [{ text: 'You said: Hello' }] }] } })
  t.match((await app.inject('/.well-known/agent-card.json')).json(), { skills: [{ id: 'echo' }] })
})

t.test('the table of operations matches the code', async (t) => {
  t.strictSame(
    tableUnder('Operations'),
    OPERATION_NAMES.map((name) => {
      const { rpc, rest, grpc } = OPERATIONS[name]
      t.equal(grpc['1.0'], rpc['1.0'], 'one column for both')
      return [name, rpc['0.3'], rpc['1.0'], rest['0.3'][0], rest['1.0'][0], grpc['0.3'] ?? '']
    })
  )
})

t.test('the table of errors matches the catalogue and the codes clients get', async (t) => {
  const catalogue = Object.entries(errors).map(([name, value]) => {
    const error = new (value as typeof errors.A2A_ERR_VERSION)('x', 'y')
    return [name, String(error.statusCode), String(toFault(error).rpcCode)]
  })
  t.strictSame(
    tableUnder('Errors').map((cells) => cells.slice(0, 3)),
    catalogue.toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1))
  )
})

t.test('the table of options matches the schema', async (t) => {
  const known = Object.entries(A2aOptionsSchema.properties).flatMap(([name, schema]) => {
    const { properties } = schema as { properties?: object }
    const isOurs = name === 'limits' || name === 'provider'
    return isOurs ? Object.keys(properties!).map((key) => `${name}.${key}`) : [name]
  })
  t.strictSame(
    tableUnder('Options').map(([name]) => name),
    known
  )
})
