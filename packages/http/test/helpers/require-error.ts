import { STATUS_CODES } from 'node:http'
import type { ErrorBody } from '@svc/http'
import type { Test } from 'tap'

/** Makes sure that a response is an error of the one shape, and gives its body. */
export async function requireError(
  t: Test,
  response: Response,
  statusCode: number,
  code: string,
  says = code
) {
  t.equal(response.status, statusCode, `${says}: status`)
  t.match(response.headers.get('content-type'), /^application\/json; charset=utf-8$/, `${says}: content type`)
  const body = (await response.json()) as ErrorBody
  const { errors, message, requestId, ...rest } = body
  t.strictSame(rest, { statusCode, code, error: STATUS_CODES[statusCode] }, says)
  t.type(message, 'string')
  t.match(requestId, /./)
  for (const each of errors ?? []) t.match(each, { path: String, message: String })
  return body
}
