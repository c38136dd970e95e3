import { toChallenge } from '../../src/access/callers.ts'
import t from 'tap'

const codes = { noToken: 'X_ERR_NO_TOKEN', invalidToken: 'X_ERR_BAD_TOKEN', missingScope: 'X_ERR_FORBIDDEN' }

t.test('only refusals have a challenge', async (t) => {
  const cases: [err: unknown, challenge: string | undefined][] = [
    [{ code: 'X_ERR_NO_TOKEN' }, 'Bearer'],
    [{ code: 'X_ERR_BAD_TOKEN', scope: 'x' }, 'Bearer error="invalid_token"'],
    [{ code: 'X_ERR_FORBIDDEN' }, 'Bearer error="insufficient_scope"'],
    [
      { code: 'X_ERR_FORBIDDEN', scope: 'agents:run' },
      'Bearer error="insufficient_scope", scope="agents:run"'
    ],
    [
      { code: 'X_ERR_FORBIDDEN', scope: 'a"b\\c\r\nd: é' },
      'Bearer error="insufficient_scope", scope="abcd: "'
    ],
    [{ code: 'HTTP_ERR_NO_TOKEN' }, undefined],
    [new Error('x'), undefined],
    ['X_ERR_NO_TOKEN', undefined],
    [null, undefined],
    [undefined, undefined]
  ]
  for (const [err, challenge] of cases) t.equal(toChallenge(err, codes), challenge)
})
