import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { agentsApp, refusalOf } from './helpers/agents-app.ts'

const TABLE = readFileSync(new URL('../../../../docs/agents-api.md', import.meta.url), 'utf8')

/** The methods of a resource of the SDK, and of the resources in it. */
function methodsOf(resource: object, path: string): string[] {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(resource)).filter(
    (name) => name !== 'constructor'
  )
  const within = Object.entries(resource).filter(
    ([name, value]) => name !== '_client' && typeof value === 'object' && value !== null
  )
  return [
    ...own.map((name) => `${path}.${name}`),
    ...within.flatMap(([name, value]) => methodsOf(value as object, `${path}.${name}`))
  ]
}

/** Methods that send nothing, or only later: they check files, and read a list. */
const SEND_LATER = new Set([
  'agents.environments.files.prepare',
  'agents.environments.files.upload',
  'agents.sessions.artifacts.forResult'
])

/** What the documents say of each method. */
const documented = new Map(
  [...TABLE.matchAll(/^\| `(agents\.[\w.*]+)` \| (.*) \|$/gm)].map(([, name = '', what = '']) => [name, what])
)

function whatOf(method: string): string | undefined {
  const parts = method.split('.')
  for (let length = parts.length - 1; length > 0; length--) {
    const group = documented.get(`${parts.slice(0, length).join('.')}.*`)
    if (group !== undefined) return group
  }
  return documented.get(method)
}

t.test('the documents say of each method of the SDK whether it works', (t) => {
  const { beta } = new OpenAI({ apiKey: 'none' })
  const methods = methodsOf(beta.agents, 'agents')
  t.ok(methods.length > 50)
  t.same(
    methods.filter((method) => whatOf(method) === undefined),
    []
  )
  const known = [...documented.keys()].filter((name) => !name.endsWith('.*'))
  t.same(
    known.filter((name) => !methods.includes(name)),
    [],
    'each named method exists'
  )
  t.end()
})

t.test('what the documents call refused is refused so', async (t) => {
  const { add } = supportAgent('Hello')
  const { client } = await agentsApp(t, { add })
  const { beta } = client()
  const called: string[] = []
  const call = async (resource: object, path: string): Promise<void> => {
    for (const method of methodsOf(resource, path)) {
      const what = whatOf(method)!
      const [, status, code] = /^refused: (\d+) `(\w+)`/.exec(what) ?? []
      if (status === undefined || SEND_LATER.has(method)) continue
      let target: object = beta
      const names = method.split('.')
      for (const name of names.slice(0, -1)) target = (target as Record<string, object>)[name]!
      const run = (target as Record<string, (...given: unknown[]) => PromiseLike<unknown>>)[names.at(-1)!]!
      // Every path takes ids; those that the second argument has are given too.
      const ids = { session_id: 's', vault_id: 'v', automation_id: 'a', environment_id: 'e' }
      const first = run.length === 0 || takesBody(names.at(-1)!, names.at(-2)!) ? ids : 'id'
      called.push(method)
      t.match(await refusalOf(run.call(target, first, ids)), { status: Number(status), code }, method)
    }
  }
  await call(beta.agents, 'agents')
  t.ok(called.length >= 25, `${called.length} methods are refused`)
})

function takesBody(method: string, resource: string): boolean {
  return (
    ['create', 'list', 'upload'].includes(method) &&
    ['agents', 'automations', 'vaults', 'environments', 'templates'].includes(resource)
  )
}
