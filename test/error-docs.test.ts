import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'

type FaultClass = new (...args: unknown[]) => { statusCode: number }

const ROOT = new URL('../', import.meta.url)

t.test('docs/errors.md lists exactly the exported codes, with their status', async (t) => {
  const page = await readFile(new URL('docs/errors.md', ROOT), 'utf8')
  const documented = new Map<string, number>(
    [...page.matchAll(/^\| `([A-Z0-9]+_ERR_[A-Z0-9_]+)` \| (\d{3}) \|/gm)].map(([, code = '', status]) => [
      code,
      Number(status)
    ])
  )
  const real = new Map<string, number>()
  for (const name of await readdir(new URL('packages', ROOT))) {
    const catalogue = new URL(`packages/${name}/src/errors.ts`, ROOT)
    const exported = await import(catalogue.href).catch(() => ({}))
    for (const [code, Fault] of Object.entries(exported as Record<string, FaultClass>)) {
      if (/^[A-Z0-9]+_ERR_/.test(code)) real.set(code, new Fault('', '', '').statusCode)
    }
  }
  t.same(Object.fromEntries(documented), Object.fromEntries(real))
})
