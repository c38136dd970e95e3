import { format, inspect } from 'node:util'
import { createContext, createRunEngine } from '@svc/registry'
import { ProviderKey } from '../src/principal.ts'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'

const KEY = 'sk-0123456789'

/** All ways in which a key could be shown by accident. */
function shown(key: ProviderKey): string {
  // As untyped code would.
  const text = key as unknown as string
  const told = [
    String(key),
    `key: ${text}`,
    'Bearer ' + text,
    JSON.stringify({ key, list: [key] }),
    inspect(key),
    inspect({ deep: { key } }, { showHidden: true, depth: 9 }),
    format('%s %o %O %j %d', key, key, key, key, key),
    Object.entries(key).join(),
    JSON.stringify(structuredClone(key)),
    JSON.stringify(Object.assign({}, key)),
    new Error(`failed with ${text}`, { cause: key }).message,
    inspect(new Error('x', { cause: key }))
  ]
  return told.join('\n')
}

t.test('a key is shown only by `reveal`', (t) => {
  const key = new ProviderKey(KEY)
  t.equal(key.reveal(), KEY)
  t.notMatch(shown(key), KEY)
  t.match(shown(key), /\[redacted\]/)
  t.end()
})

t.test('a context wraps keys from every source', async (t) => {
  const seen: (ProviderKey | undefined)[] = []
  const runnable = scriptedRunnable([(context) => void seen.push(context.child('a').apiKey('openai'))])
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const wrapped = new ProviderKey(KEY)
  for (const apiKey of [() => KEY, () => wrapped, () => undefined])
    await (await engine.start(runnable, 'x', { apiKey })).result()
  seen.push(
    createContext({ apiKey: (provider) => `${KEY}-${provider}` }).apiKey('google'),
    createContext().apiKey()
  )
  t.strictSame(
    seen.map((key) => key?.reveal()),
    [KEY, KEY, undefined, `${KEY}-google`, undefined]
  )
  for (const key of seen) if (key !== undefined) t.notMatch(shown(key), KEY)
})
