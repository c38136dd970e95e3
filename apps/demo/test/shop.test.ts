import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { HtmlValidate } from 'html-validate'
import t from 'tap'
import { buildApp } from '../src/app.ts'
import { readEnv } from '../src/env.ts'
import { createOfflineModel } from '../src/models/offline/offline-model.ts'

t.test('the pages of the shop are valid and accessible HTML, without scripts', async (t) => {
  const pages = globSync('*.html', { cwd: resolve(import.meta.dirname, '../shop') })
  t.equal(pages.length, 6)
  const validator = new HtmlValidate({
    extends: ['html-validate:document', 'html-validate:a11y'],
    rules: { 'require-sri': 'off' }
  })
  for (const page of pages) {
    const { results } = await validator.validateFile(resolve(import.meta.dirname, '../shop', page))
    const faults = results.flatMap(({ messages }) => messages)
    t.strictSame(
      faults.map(({ ruleId, message, line }) => `${line} ${ruleId}: ${message}`),
      [],
      page
    )
  }
})

t.test('the demo serves them, and nothing else', async (t) => {
  const env = readEnv({ DATABASE_URL: 'sqlite::memory:', LOG_LEVEL: 'silent' })
  const app = await buildApp(env, createOfflineModel({ delay: 0 }))
  t.teardown(() => app.close())
  t.match(await app.inject('/shop'), { statusCode: 301, headers: { location: '/shop/' } })
  for (const path of ['', 'products.html', 'style.css'])
    t.equal((await app.inject(`/shop/${path}`)).statusCode, 200, path)
  for (const path of ['nothing.html', '../package.json', '%2e%2e/package.json', '..%2fpackage.json'])
    t.equal((await app.inject(`/shop/${path}`)).statusCode, 404, path)
})
