import type { Browser, Page } from 'playwright-core'
import { launchChromium, needsChromium } from '@tools/wires/chromium'
import t from 'tap'
import { buildApp, echo, type AppRequest } from '../helpers/build-app.ts'

let browser: Browser | undefined
t.teardown(() => browser?.close())

const policy = (headers: Headers) => headers.get('content-security-policy') ?? ''

t.test('the page and its files', async (t) => {
  const servers = [{ url: 'https://a.example/v1' }, { url: '/' }]
  const { get } = await buildApp(t, { options: { swagger: { title: 'My <agents>', servers } } })
  const page = await get('/docs/')
  t.equal(page.status, 200)
  t.match(page.headers.get('content-type'), /^text\/html/)
  t.match(policy(page.headers), /connect-src 'self' https:\/\/a\.example;/)
  t.notMatch(policy(page.headers), /upgrade-insecure-requests|script-src|unsafe-eval/)
  t.equal(page.headers.get('x-content-type-options'), 'nosniff')
  const html = await page.text()
  t.match(html, /<title>My &lt;agents&gt;<\/title>/)
  t.notMatch(html, /(src|href)="(https?:|\/)/, 'links are relative')
  for (const [, file = ''] of html.matchAll(/(?:src|href)="\.(\/[^"]+)"/g))
    t.equal((await get(`/docs${file}`)).status, 200, file)
  for (const path of ['/docs/static/../../package.json', '/docs/static/none.js', '/docs/static/..%2f..%2fx'])
    t.equal((await get(path)).status, 404, path)
})

t.test('every path of the page redirects to the trailing slash', async (t) => {
  const { url } = await buildApp(t, { options: { swagger: { docsPath: '/a/b' } } })
  const ways: [from: string, to: string][] = [
    ['/a/b', '/a/b/'],
    ['/a/b?x=//evil.example', '/a/b/'],
    ['/a/b/?x', '/a/b/'],
    ['/a/b/static/index.html', '/a/b/']
  ]
  for (const [from, to] of ways) {
    const response = await fetch(url + from, { redirect: 'manual' })
    t.equal(response.status, 302, from)
    t.equal(new URL(response.headers.get('location') ?? '', url + from).href, url + to)
  }
})

t.test('in a browser: offline, and runs an agent', needsChromium, async (t) => {
  const { page, outside, errors } = await open(t, {})
  await page.getByText('Run an agent and wait for its end').click()
  await page.getByRole('button', { name: 'Try it out' }).click()
  await page.getByRole('button', { name: 'Execute' }).click()
  const live = page.locator('.live-responses-table')
  await live.waitFor()
  t.match(await live.innerText(), /"text": "Hello"/)
  t.strictSame(outside, [])
  t.strictSame(errors, [])
})

t.test('in a browser: no prefix, other paths', needsChromium, async (t) => {
  const options = { prefix: '', swagger: { title: 'Bare', docsPath: '/help', specPath: '/openapi.json' } }
  const { page, outside, errors } = await open(t, { options })
  t.equal(await page.title(), 'Bare')
  t.match(await page.locator('#swagger-ui').innerText(), /Run a team and follow it/)
  t.strictSame(outside, [])
  t.strictSame(errors, [])
})

/** Opens the page of an app, and watches what it asks for and complains of. */
async function open(t: Parameters<typeof buildApp>[0], { options = { swagger: true } }: AppRequest) {
  const { url, origin } = await buildApp(t, { runnables: [echo], options })
  browser ??= await launchChromium()
  const page: Page = await browser.newPage()
  const outside: string[] = []
  const errors: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) outside.push(request.url())
  })
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  page.on('pageerror', (error) => errors.push(String(error)))
  const { swagger, prefix } = options as { swagger: { docsPath?: string } | true; prefix?: string }
  const path = (swagger !== true && swagger.docsPath) || '/docs'
  await page.goto((prefix === undefined ? url : origin) + path)
  await page.locator('.opblock').first().waitFor()
  return { page, outside, errors }
}
