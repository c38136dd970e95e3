import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { HtmlValidate } from 'html-validate'
import t from 'tap'

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
