import { randomUUID } from 'node:crypto'
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyInstance } from 'fastify'
import { HTTP_ERR_BAD_REQUEST, HTTP_ERR_HEADERS_TOO_LARGE, HTTP_ERR_REQUEST_TIMEOUT } from '../errors.ts'
import { toErrorBody, toFault } from './to-error-body.ts'

/**
 * For `Fastify({ clientErrorHandler })`: gives the errors of Node.js's HTTP parser the same body as all others: malformed
 * requests, oversized headers, timeouts.
 */
export function clientErrorHandler(this: FastifyInstance, err: ConnectionError, socket: Socket): void {
  // oxlint-disable-next-line no-this-in-exported-function -- Fastify calls it as a method of the app
  const { log } = this
  if (err.code === 'ECONNRESET' || socket.destroyed) return
  const fault = toFault(toRefusal(err))
  const requestId = randomUUID()
  const { statusCode, code } = fault
  log.info({ code, statusCode, requestId, reason: err.code }, 'request refused')
  if (!socket.writable || hasBegunToAnswer(socket)) {
    socket.destroy()
    return
  }
  const body = JSON.stringify(toErrorBody(fault, requestId))
  const head = [
    `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close'
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

function toRefusal({ code }: ConnectionError): Error {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new HTTP_ERR_REQUEST_TIMEOUT()
  if (code === 'HPE_HEADER_OVERFLOW') return new HTTP_ERR_HEADERS_TOO_LARGE()
  return new HTTP_ERR_BAD_REQUEST('The request is not valid HTTP')
}

// Must not write into a response that has begun. Node.js checks the same property.
function hasBegunToAnswer(socket: Socket): boolean {
  return (
    (socket as Socket & { ['_httpMessage']?: ServerResponse | null })['_httpMessage']?.headersSent === true
  )
}
