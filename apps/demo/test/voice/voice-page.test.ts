import Fastify from 'fastify'
import { HtmlValidate } from 'html-validate'
import t from 'tap'
import { VOICE, voicePage } from '../../src/voice/voice-page.ts'

const OPTIONS = { model: 'phone', base: '/v1', needsToken: false, phrases: ['hello'] }
const app = Fastify()
t.before(() => void app.register(voicePage, { prefix: VOICE, ...OPTIONS }))
t.teardown(() => app.close())

t.test('the page and everything that it loads is served, under a strict policy', async (t) => {
  const { headers, body } = await app.inject(`${VOICE}/`)
  t.match(headers['content-type'], 'text/html')
  t.match(headers, {
    'permissions-policy': 'microphone=(self)',
    'content-security-policy': /^default-src 'none'; script-src 'self'; /
  })
  t.notMatch(headers['content-security-policy'], 'unsafe')
  const loaded = new Set([...body.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path]) => path!))
  for (const path of loaded) {
    const { statusCode, body: source, headers: its } = await app.inject(`${VOICE}/${path}`)
    t.equal(statusCode, 200, path)
    t.equal(its['content-security-policy'], headers['content-security-policy'], path)
    for (const [, name] of source.matchAll(/(?:from '\.\/|new URL\(')([^']+)'/g)) loaded.add(name!)
  }
  t.ok(loaded.has('worklets/capture.js') && loaded.has('base64.js'), [...loaded].join())
  t.same((await app.inject(`${VOICE}/config.json`)).json(), OPTIONS)
})

t.test('its address is also found without the last slash', async (t) => {
  t.match(await app.inject(VOICE), { statusCode: 302, headers: { location: `${VOICE}/` } })
})

t.test('nothing else of the folder is served', async (t) => {
  for (const path of ['tsconfig.json', 'worklets/globals.d.ts', 'worklets/', '../package.json', '.env'])
    t.equal((await app.inject(`${VOICE}/${path}`)).statusCode, 404, path)
})

t.test('it is valid and accessible HTML, without scripts or styles inside', async (t) => {
  const { body } = await app.inject(`${VOICE}/`)
  const validator = new HtmlValidate({
    extends: ['html-validate:document', 'html-validate:a11y'],
    rules: { 'require-sri': 'off', 'no-inline-style': 'error' }
  })
  const { results } = await validator.validateString(body)
  t.same(
    results.flatMap(({ messages }) =>
      messages.map(({ ruleId, message, line }) => `${line} ${ruleId}: ${message}`)
    ),
    []
  )
  t.notMatch(body, /<script(?![^>]* src=)|<style| style=| on\w+=/)
})
