import { readFileSync } from 'node:fs'
import Anthropic, { APIError } from '@anthropic-ai/sdk'
import t from 'tap'
import { parrot } from '@tools/wires/wire-checks'
import { sessionsApp } from '../helpers/sessions-app.ts'

/** The methods below a resource of the client, by their names, and the method itself. */
function* methodsOf(
  client: Anthropic,
  resource: object,
  path: string
): Iterable<readonly [string, (...args: unknown[]) => unknown]> {
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(resource))) {
    const value: unknown = Reflect.get(resource, name)
    if (name !== 'constructor' && !name.startsWith('_') && typeof value === 'function')
      yield [`${path}.${name}`, value.bind(resource)]
  }
  for (const [name, value] of Object.entries(resource))
    if (name !== '_client' && isResource(value, client)) yield* methodsOf(client, value, `${path}.${name}`)
}

// Resources know their client.
function isResource(value: unknown, client: Anthropic): value is object {
  return typeof value === 'object' && value !== null && Reflect.get(value, '_client') === client
}

/** The rows of the table of the documentation: patterns of methods, and what is said of them. */
function readRows(): [pattern: string, text: string][] {
  const page = readFileSync(new URL('../../../../docs/managed-agents.md', import.meta.url), 'utf8')
  const table = page.slice(page.indexOf('## Which methods work?'))
  return table
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => {
      const [, names = '', text = ''] = line.split('|')
      return [...names.matchAll(/`([^`]+)`/g)].map(([, name]): [string, string] => [name!, text.trim()])
    })
}

const fits = (pattern: string, method: string) =>
  pattern.endsWith('.*') ? method.startsWith(pattern.slice(0, -1)) : pattern === method

t.test('each method of the SDK is in the table', async (t) => {
  const client = new Anthropic({ apiKey: 'any' })
  const rows = readRows()
  const methods = [...methodsOf(client, client.beta, 'beta')].map(([name]) => name)
  t.ok(methods.length > 100)
  t.same(
    methods.filter((method) => rows.filter(([pattern]) => fits(pattern, method)).length !== 1),
    [],
    'each in one row'
  )
  const unused = rows.filter(([pattern]) => !methods.some((method) => fits(pattern, method)))
  t.same(
    unused.map(([pattern]) => pattern),
    ['beta'],
    'each row has methods'
  )
})

t.test('what is refused is refused by the error of the protocol, and what works is there', async (t) => {
  const { client } = await sessionsApp(t, { runnables: [parrot] })
  const rows = readRows()
  const ids = {
    session_id: 'none',
    environment_id: 'none',
    vault_id: 'none',
    memory_store_id: 'none',
    skill_id: 'none',
    tunnel_id: 'none'
  }
  for (const [method, call] of methodsOf(client, client.beta, 'beta')) {
    const [, text] = rows.find(([pattern]) => fits(pattern, method))!
    if (/^beta\.(?:messages|organization|compliance|webhooks)\./.test(method)) continue
    // These make no request of their own.
    if (/\.(?:toolRunner|poller|worker)$/.test(method)) continue
    const [status, code] = await statusOf(call, ids)
    if (text.startsWith('works')) {
      t.ok(status === 200 || status === 400 || status === 404, `${method}: ${status}`)
      t.not(code, 'ANTHROPIC_ERR_ROUTE_NOT_FOUND', method)
      t.not(code, 'ANTHROPIC_ERR_READ_ONLY', method)
    } else {
      const wanted = [...text.matchAll(/\b4\d\d\b/g)].map(([each]) => Number(each))
      t.ok(wanted.includes(status), `${method}: ${status} ${code}, not one of ${wanted.join()}`)
      t.match(code, /^ANTHROPIC_ERR_/, method)
    }
  }
})

// A method takes parameters alone, or an id first.
async function statusOf(
  call: (...args: unknown[]) => unknown,
  parameters: object
): Promise<[status: number, code: string | undefined]> {
  const attempts = [[parameters], ['none', parameters], ['none', 'none', parameters]]
  let last: unknown
  for (const args of attempts)
    try {
      await call(...args)
      return [200, undefined]
    } catch (err) {
      if (err instanceof APIError && typeof err.status === 'number')
        return [err.status, (err as { errorCode?: string }).errorCode]
      last = err
    }
  throw last
}
