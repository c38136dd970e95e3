import { format, inspect } from 'node:util'
import { createContext, createRunEngine, ProviderKey } from '@svc/registry'
import { scriptedRunnable } from '@svc/registry/testing'
import t from 'tap'

const KEY = 'sk-0123456789'

/** Everything that could show a key by accident. */
function shown(key: ProviderKey): string {
  // As code without types does it.
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

t.test('a key shows itself to nobody who does not ask for it', (t) => {
  const key = new ProviderKey(KEY)
  t.equal(key.reveal(), KEY)
  t.notMatch(shown(key), KEY)
  t.match(shown(key), /\[redacted\]/)
  t.end()
})

t.test('a context has it in this form, from wherever it came', async (t) => {
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
