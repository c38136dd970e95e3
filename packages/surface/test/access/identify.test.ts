import { createError, type Authenticate } from '@svc/contract'
import { identify } from '../../src/access/callers.ts'
import t from 'tap'

const NoToken = createError('X_ERR_NO_TOKEN', 'none', 401)
const InvalidToken = createError('X_ERR_INVALID_TOKEN', 'bad', 401)
const ada = { sub: 'ada', scopes: ['agents:run'] }
const failure = (props: object) => Object.assign(new Error('inside'), props)

/** The outcomes of an `authenticate`, synchronous and asynchronous. */
async function outcomes(work: () => unknown) {
  const ask = async (authenticate: unknown) => {
    try {
      const credentials = { headers: {}, cookies: {} }
      return await identify(authenticate as Authenticate, credentials, { NoToken, InvalidToken })
    } catch (err) {
      const { code, statusCode, cause } = err as { code?: string; statusCode?: number; cause?: unknown }
      return { code, statusCode, cause: (cause as Error | undefined)?.message }
    }
  }
  return [await ask(work), await ask(async () => work())]
}
const fail = (props: object) => () => {
  throw failure(props)
}
const twice = (value: unknown) => [value, value]

t.test('a principal is the caller, and null means no token', async (t) => {
  t.strictSame(await outcomes(() => ada), twice(ada))
  t.match(await outcomes(() => null), twice({ code: 'X_ERR_NO_TOKEN' }))
  const NoTokenElsewhere = createError('Y_ERR_NO_TOKEN', 'No token', 401)
  const refuse = () => {
    throw new NoTokenElsewhere()
  }
  t.match(await outcomes(refuse), twice({ code: 'X_ERR_NO_TOKEN' }))
  t.match(
    await outcomes(fail({ code: 'Y_ERR_NO_TOKEN' })),
    twice({ code: 'X_ERR_INVALID_TOKEN' }),
    'without the mark'
  )
})

t.test('any other value is a server error', async (t) => {
  for (const value of [undefined, true, 'ada', {}, { sub: '' }, { sub: 'ada' }, { sub: 'ada', scopes: [1] }])
    t.match(await outcomes(() => value), twice({ statusCode: 500 }), JSON.stringify(value))
})

t.test('a thrown error means an invalid token, unless it reports an outage', async (t) => {
  const bad = { code: 'X_ERR_INVALID_TOKEN', statusCode: 401 }
  t.match(await outcomes(fail({})), twice({ ...bad, cause: 'inside' }))
  t.match(await outcomes(fail({ statusCode: 404 })), twice({ ...bad, cause: 'inside' }))
  t.match(await outcomes(fail({ statusCode: 503, code: 'AWAY' })), twice({ code: 'AWAY', statusCode: 503 }))
  const own = () => {
    throw new InvalidToken()
  }
  t.match(await outcomes(own), twice({ ...bad, cause: undefined }), 'once, not one in another')
})
