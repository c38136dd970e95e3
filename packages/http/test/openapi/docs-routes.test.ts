import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'
import { claims, createTokenMaker } from '../auth/token-maker.ts'

const PATHS = ['/', '', '/spec.json', '/json', '/yaml', '/static/swagger-ui.css', '/static/index.html']

t.test('with `protect` the page, its files and the document require a token', async (t) => {
  const maker = createTokenMaker('HS256')
  const headers = { authorization: `Bearer ${maker.sign(claims())}` }
  for (const protect of [true, false]) {
    const { app } = await buildApp(t, { options: { jwt: { secret: maker.secret }, swagger: { protect } } })
    for (const path of PATHS) {
      const url = `/api/docs${path}`
      const open = await app.inject(url)
      t.equal(open.statusCode === 401, protect, `${url} without a token, protect: ${protect}`)
      const { statusCode } = await app.inject({ url, headers })
      t.ok(statusCode === 200 || statusCode === 302, `${url} with a token`)
      const head = await app.inject({ method: 'HEAD', url })
      t.equal(head.statusCode === 401, protect, `HEAD ${url}`)
    }
  }
})
